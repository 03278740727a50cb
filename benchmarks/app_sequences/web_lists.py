"""Lists for a page in Chromium: clicks that move the focus or leave it, and keys after."""

from __future__ import annotations

from benchmarks.app_sequences.runs import Act, AppList, KeptDesktop, click, keys, title_of
from benchmarks.sequences import open_with
from hisa.actions import Hotkey, Press

__all__ = ["REPORTED", "TUNED_ON", "open_page", "renew_page"]

PAGE = """<!doctype html><meta charset=utf-8><title>lists</title>
<style>body{font:16px sans-serif;margin:12px}section{float:left;width:380px;margin:0 12px 12px 0}
[contenteditable],textarea{border:1px solid;min-height:44px;width:340px;display:block}
td{border:1px solid;width:90px;height:26px}
[aria-selected=true]{background:#cde}
</style>
<section><h2>Note</h2><div role=toolbar>
<button class=tool data-do=bold>Bold</button><button class=tool data-do=italic>Italic</button>
<button class=tool data-do=insertUnorderedList>Bullets</button>
<button class=tool data-do=undo>Undo</button><button id=smile>Smile</button></div>
<div id=note contenteditable role=textbox aria-label=Note></div></section>
<section><h2>Search</h2><button id=open>Find on page</button><span id=bar hidden>
<input aria-label="Search for"></span>
<p><label for=mail>E-mail address</label><input id=mail>
<p><label>Amount<input id=amount type=number value=3></label>
<button id=plus>More</button></section>
<section><h2>Tabs</h2><div role=tablist><button role=tab id=tab1>Sender</button>
<button role=tab id=tab2>Receiver</button></div>
<div id=pane1><input aria-label="Sender name"></div>
<div id=pane2 hidden><input aria-label="Receiver name"></div></section>
<section><h2>List</h2><button id=add>Add item</button><ul id=items></ul>
<input id=tag aria-label=Tag><span id=tags></span></section>
<section><h2>Table</h2><table><tr><td tabindex=0 class=cell>Red</td><td tabindex=0 class=cell>Blue
</td></tr></table><button id=rename>Rename</button><span id=name>Draft</span></section>
<section><h2>Choice</h2><button id=pick aria-haspopup=listbox>Colour</button>
<ul id=colours role=listbox hidden tabindex=-1><li role=option>amber<li role=option>beige
<li role=option>coral</ul>
<p><label><input type=radio name=size value=small>Small</label><label><input type=radio name=size
value=large>Large</label>
<p><label><input type=checkbox id=gift>Gift</label><input id=to aria-label="Gift text">
<p><label>Level<input id=level type=range min=0 max=9 value=4></label></section>
<section><h2>City</h2><input id=city aria-label=City autocomplete=off><ul id=cities hidden></ul>
<details><summary>More fields</summary><input id=extra aria-label="Extra field"></details>
<a href="#words" id=jump>Go to comments</a></section>
<section><h2>Comments</h2><textarea id=words aria-label=Comments></textarea>
<button id=quote>Quote</button></section>
<script>
const $ = name => document.getElementById(name);
const told = () => { document.title = 'held ' + [...document.querySelectorAll(
  'input:not([type=checkbox]):not([type=radio]),textarea')].map(f => f.value).filter(v => v)
  .concat(note.innerText, $('name').innerText, [...document.querySelectorAll(
  '.cell,#tags,:checked')].map(c => c.innerText || c.value), picked)
  .join('|').replace(/\\s+/g, ' '); };
document.addEventListener('keydown', e => { if (e.key == 'F8') told(); });
let picked = '', at = -1;
for (const b of document.querySelectorAll('.tool')) {
  b.onmousedown = e => e.preventDefault();
  b.onclick = () => { document.execCommand(b.dataset.do); }; }
smile.onclick = () => { note.focus(); document.execCommand('insertText', false, ':) '); };
$('open').onclick = () => { bar.hidden = false; bar.firstElementChild.focus(); };
plus.onclick = () => { amount.value++; amount.focus(); amount.select(); };
for (const n of [1, 2]) $('tab' + n).onclick = () => { pane1.hidden = n == 2; pane2.hidden = n == 1;
  $('pane' + n).firstElementChild.focus(); };
add.onclick = () => { const item = document.createElement('li');
  item.innerHTML = `<input aria-label="Item ${items.children.length + 1}">`; items.append(item);
  item.firstElementChild.focus(); };
tag.onkeydown = e => { if (e.key == 'Enter') { tags.innerText += ' #' + tag.value; tag.value = '';
  } };
function edit(box) { const field = document.createElement('input'); field.value = box.innerText;
  box.innerText = ''; box.append(field); field.focus(); field.select();
  field.setAttribute('aria-label', 'Edited');
  field.onkeydown = e => { if (e.key == 'Enter') { box.innerText = field.value; } }; }
for (const box of document.querySelectorAll('.cell')) box.onclick = e => {
  if (e.target == box) edit(box); };
rename.onclick = () => edit($('name'));
pick.onclick = () => { colours.hidden = false; colours.focus(); at = -1; };
colours.onkeydown = e => { if (e.key == 'ArrowDown') at++; [...colours.children].forEach((c, n) =>
  c.setAttribute('aria-selected', n == at)); if (e.key == 'Enter') { picked = colours.children[at]
  .innerText.trim(); colours.hidden = true; pick.focus(); } e.preventDefault(); };
gift.onchange = () => to.focus();
city.oninput = () => { cities.hidden = !city.value; cities.innerHTML = ['Bergen', 'Berlin', 'Bern']
  .filter(c => c.startsWith(city.value)).map(c => `<li>${c}`).join(''); at = -1; };
city.onkeydown = e => { if (e.key == 'ArrowDown') { at++; e.preventDefault(); }
  if (e.key == 'Enter' && at >= 0) { city.value = cities.children[at].innerText;
  cities.hidden = true; } };
document.querySelector('details').ontoggle = e => { if (e.target.open) extra.focus(); };
jump.onclick = e => { e.preventDefault(); words.focus(); };
quote.onclick = () => { words.value += '> '; words.focus(); };
</script>"""
CHROMIUM = (
    "chromium --no-sandbox --test-type --no-first-run --disable-gpu --start-maximized "
    "--force-renderer-accessibility --user-data-dir=/home/user/lists file:///home/user/lists.html"
)
TAB, ENTER = keys("pyautogui.press('tab')"), keys("pyautogui.press('enter')")
CHOOSE_ALL = "pyautogui.hotkey('ctrl', 'a')"


async def open_page(desktop: KeptDesktop) -> None:
    """Open the page in a browser that fills the screen."""
    await desktop.write_file("/home/user/lists.html", PAGE.encode())
    await open_with(desktop, CHROMIUM, "lists")


async def renew_page(desktop: KeptDesktop) -> None:
    """Load the page anew."""
    await desktop.act([Press("esc"), Hotkey(("ctrl", "l")), Press("enter")])
    await desktop.observe(settle=3.0)


def write(text: str) -> Act:
    """Returns a call that types a text."""
    return keys(f"pyautogui.write('{text}')")


def filled(name: str, *acts: Act, wanted: str) -> AppList:
    """Returns a list after which the page's title tells what was typed."""
    return AppList(name, acts, ("held", wanted), title_of)


NOTE = 'text field "Note"'
REPORTED = (
    filled(
        "bold button that leaves the focus",
        click(NOTE),
        click('button "Bold"'),
        write("strong"),
        wanted="strong",
    ),
    filled(
        "text, button, more text",
        click(NOTE, "pyautogui.write('one ')"),
        click('button "Italic"'),
        write("two"),
        wanted="one two",
    ),
    filled(
        "button that inserts, then text", click('button "Smile"'), write("hello"), wanted=":) hello"
    ),
    filled(
        "button that opens a field",
        click('button "Find on page"'),
        write("needle"),
        ENTER,
        wanted="needle",
    ),
    filled(
        "tab that puts the focus into its pane",
        click('tab "Receiver"'),
        write("Ada"),
        wanted="Ada",
    ),
    filled(
        "the same tab, field by field",
        click('text field "Sender name"', "pyautogui.write('Bo')"),
        click('tab "Receiver"'),
        write("Cy"),
        wanted="Bo|Cy",
    ),
    filled("button that adds a field", click('button "Add item"'), write("Milk"), wanted="Milk"),
    filled(
        "two fields added",
        click('button "Add item"'),
        write("Milk"),
        click('button "Add item"'),
        write("Bread"),
        wanted="Milk|Bread",
    ),
    filled(
        "tags by Enter",
        click('text field "Tag"', "pyautogui.write('red')"),
        ENTER,
        write("green"),
        ENTER,
        wanted="#red #green",
    ),
    filled("cell that becomes a field", click('cell "Red"'), write("Green"), ENTER, wanted="Green"),
    filled(
        "name that becomes a field", click('button "Rename"'), write("Final"), ENTER, wanted="Final"
    ),
    filled(
        "list of choices by arrows",
        click('button "Colour"'),
        keys("pyautogui.press('down', presses=2)"),
        ENTER,
        wanted="beige",
    ),
    filled(
        "radio button by an arrow",
        click('radio button "Small"'),
        keys("pyautogui.press('down')"),
        wanted="large",
    ),
    filled(
        "check box that leads to a field", click('check box "Gift"'), write("Joy"), wanted="Joy"
    ),
    filled(
        "slider by arrows",
        click('slider "Level"'),
        keys("pyautogui.press('end')"),
        wanted="9",
    ),
    filled(
        "suggestion by an arrow",
        click('text field "City"', "pyautogui.write('Ber')"),
        keys("pyautogui.press('down', presses=2)"),
        ENTER,
        wanted="Berlin",
    ),
    filled("fold that opens", click('"More fields"'), write("deep"), wanted="deep"),
    filled("link to a field", click('link "Go to comments"'), write("fine"), wanted="fine"),
    filled("button that quotes", click('button "Quote"'), write("said"), wanted="> said"),
    filled(
        "number typed over, then the next field",
        click('button "More"'),
        write("7"),
        click('text field "E-mail address"'),
        write("a@b.c"),
        wanted="a@b.c|7",
    ),
)
TUNED_ON = (
    filled(
        "bullets, then text", click(NOTE), click('button "Bullets"'), write("point"), wanted="point"
    ),
    filled(
        "text taken back by a button",
        click(NOTE, "pyautogui.write('x')"),
        click('button "Undo"'),
        write("y"),
        wanted="y",
    ),
    filled(
        "tab and back",
        click('tab "Receiver"'),
        click('tab "Sender"'),
        write("Di"),
        wanted="Di",
    ),
    filled("other cell", click('cell "Blue"'), write("Gold"), ENTER, wanted="Gold"),
    filled("radio, then a text", click('radio button "Large"'), TAB, TAB, write("gi"), wanted="gi"),
    filled(
        "note, then quote",
        click(NOTE, "pyautogui.write('n')"),
        click('button "Quote"'),
        write("q"),
        wanted="> q",
    ),
)
