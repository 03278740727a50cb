CREATE INDEX unfinished ON tickets (state) WHERE state IN ('waiting', 'leased');
