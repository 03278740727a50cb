CREATE TABLE customers (name TEXT PRIMARY KEY, city TEXT);
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, item TEXT, quantity TEXT, status TEXT,
    gift TEXT, due TEXT, note TEXT);
INSERT INTO customers VALUES ('Ana Sousa', 'Lisbon'), ('Ben Hall', 'Leeds'), ('Chen Wei', 'Xian');
INSERT INTO settings VALUES ('shop', 'Corner Shop'), ('currency', 'EUR'), ('mail', '');
INSERT INTO orders VALUES
    (1, 'Ana Sousa', 'Lamp', '2', 'new', '', '2024-05-02', ''),
    (2, 'Ben Hall', 'Chair', '4', 'paid', 'yes', '2024-05-07', 'ring twice'),
    (3, 'Chen Wei', 'Desk', '1', 'sent', '', '2024-04-28', ''),
    (4, 'Ana Sousa', 'Shelf', '3', 'paid', '', '2024-05-15', '');
