# ruff: noqa: E501 - lines are texts, and wide characters count twice
"""Texts by which the token estimate is measured: prose in many scripts, data, code, noise."""

from __future__ import annotations

import base64
import json
import random
import string
import unicodedata
from collections.abc import Mapping
from pathlib import Path

__all__ = ["fixed_texts", "own_texts"]

_PROSE = {
    "english": (
        "All human beings are born free and equal in dignity and rights. They are endowed with "
        "reason and conscience and should act towards one another in a spirit of brotherhood."
    ),
    "german": (
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft "
        "und Gewissen begabt und sollen einander im Geiste der Brüderlichkeit begegnen. "
        "Geschwindigkeitsbegrenzungsaufhebung, Rechtsschutzversicherungsgesellschaften."
    ),
    "french": (
        "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués "
        "de raison et de conscience et doivent agir les uns envers les autres."
    ),
    "spanish": (
        "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como "
        "están de razón y conciencia, deben comportarse fraternalmente los unos con los otros."
    ),
    "polish": (
        "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni "
        "obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa."
    ),
    "finnish": (
        "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on "
        "annettu järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä."
    ),
    "turkish": (
        "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana "
        "sahiptirler ve birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler."
    ),
    "vietnamese": (
        "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền. Mọi con "
        "người đều được tạo hóa ban cho lý trí và lương tâm."
    ),
    "russian": (
        "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены "
        "разумом и совестью и должны поступать в отношении друг друга в духе братства."
    ),
    "greek": (
        "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. "
        "Είναι προικισμένοι με λογική και συνείδηση."
    ),
    "hebrew": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון.",
    "arabic": (
        "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا وعليهم أن "
        "يعامل بعضهم بعضًا بروح الإخاء."
    ),
    "persian": "تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند.",
    "hindi": (
        "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। "
        "उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है।"
    ),
    "bengali": "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে।",
    "tamil": "மனிதப் பிறவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்; அவர்கள் சமமானவர்கள்.",
    "thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม",
    "georgian": "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.",
    "armenian": "Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով։",
    "amharic": "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው።",
    "khmer": "មនុស្សទាំងអស់កើតមកមានសេរីភាពនិងសមភាពក្នុងផ្នែកសេចក្ដីថ្លៃថ្នូរនិងសិទ្ធិ។",
    "burmese": "လူတိုင်းသည် တူညီလွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့် လည်းကောင်း မွေးဖွားလာသူများဖြစ်သည်။",
    "chinese": (
        "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。"
        "请在对话框中输入文件名,然后点击保存按钮。"
    ),
    "traditional": "人人生而自由,在尊嚴和權利上一律平等。他們賦有理性和良心,並應以兄弟關係的精神互相對待。",
    "japanese": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 파일을 저장하십시오.",
}

_SCRIPTS = {
    "rare hanzi": (0x4E00, 0x9FFF),
    "hangul noise": (0xAC00, 0xD7A3),
    "kana noise": (0x3041, 0x30FE),
    "cyrillic noise": (0x0410, 0x044F),
    "greek noise": (0x0391, 0x03C9),
    "arabic noise": (0x0621, 0x064A),
    "hebrew noise": (0x05D0, 0x05EA),
    "devanagari noise": (0x0905, 0x0939),
    "thai noise": (0x0E01, 0x0E2E),
    "latin-1 noise": (0x00C0, 0x00FF),
    "latin extended noise": (0x0100, 0x024F),
    "emoji": (0x1F300, 0x1F64F),
    "math": (0x2200, 0x22FF),
    "box drawing": (0x2500, 0x257F),
    "private use": (0xE000, 0xF8FF),
    "egyptian": (0x13000, 0x1342E),
}


def fixed_texts() -> Mapping[str, str]:
    """Name to text, each of some 300 to 4,000 characters; the noise has a fixed seed."""
    texts = {name: f"{text} " * 8 for name, text in _PROSE.items()}
    texts |= _data()
    rng = random.Random(0)
    for name, (first, last) in _SCRIPTS.items():
        chars = [chr(n) for n in range(first, last + 1) if unicodedata.category(chr(n)) != "Cn"]
        texts[name] = "".join(rng.choices(chars, k=1000))
    return texts


def own_texts(root: Path) -> Mapping[str, str]:
    """Prose and code of the checkout whose top folder is ``root``."""
    return {
        "readme": (root / "README.md").read_text("utf-8")[:20_000],
        "prompts": "\n".join(file.read_text("utf-8") for file in sorted(root.glob("prompts/*.md"))),
        "code": (root / "hisa" / "agent.py").read_text("utf-8"),
    }


def _data() -> dict[str, str]:
    rng = random.Random(1)
    digits = "".join(rng.choices(string.digits, k=2000))
    rows = [
        f"{n},{rng.randint(1, 99999)},{rng.random() * 100:.2f},2026-{n % 12 + 1:02d}-{n % 28 + 1:02d}"
        for n in range(150)
    ]
    cells = [{"cell": f"B{n}", "value": rng.randint(0, 10**6), "ok": n % 2 == 0} for n in range(80)]
    calls = [
        f"Step {n}: gui_action | Thought: Open the File menu. | Description: the File menu | Input: "
        f"pyautogui.click({rng.randint(0, 1279)}, {rng.randint(0, 719)}) | Result: Succeeded. It is "
        "open."
        for n in range(30)
    ]
    return {
        "digits": digits,
        "numbers": " ".join(str(rng.randint(0, 10**6)) for _ in range(400)),
        "hex": rng.randbytes(1000).hex(),
        "hex upper": rng.randbytes(1000).hex().upper(),
        "hex dump": rng.randbytes(600).hex(" "),
        "base64": base64.b64encode(rng.randbytes(1500)).decode(),
        "uuid": " ".join(str(_uuid(rng)) for _ in range(50)),
        "csv": "\n".join(rows),
        "json": json.dumps(cells),
        "history": "\n".join(calls),
        "letters": "".join(rng.choices(string.ascii_lowercase, k=2000)),
        "capitals": "".join(rng.choices(string.ascii_uppercase, k=2000)),
        "mixed case": "".join(rng.choices(string.ascii_letters, k=2000)),
        "short nonsense": " ".join(
            "".join(rng.choices(string.ascii_lowercase, k=5)) for _ in range(400)
        ),
        "printable": "".join(rng.choices(string.printable, k=2000)),
        "punctuation": "".join(rng.choices(string.punctuation, k=2000)),
        "capital words": "DO NOT PRESS THE SAVE BUTTON. ERROR: COULD NOT OPEN FILE. " * 10,
        "camel case": "getElementByIdAndReturnFirstChild setWindowTitleFromDocument " * 10,
        "snake case": "max_completion_tokens_per_request_of_the_planner_model " * 10,
        "path": "/usr/lib/x86_64-linux-gnu/libreoffice/share/registry/main.xcd:12:34 " * 10,
        "log": "2026-11-21T22:44:23.123Z [error] pid=48213 0x7ffd3a9c: segfault at 00000010 ip\n"
        * 10,
        "spaces": ("a" + " " * 40 + "b\n") * 20,
        "newlines": "a\n\n\n\n\tb\n\t\t\tc\r\n" * 30,
        "rule": ("-" * 70 + "\n" + "=" * 70 + "\n") * 10,
        "one letter": "a " * 500,
        "flags": "🇩🇪🇯🇵👩‍👩‍👧‍👦👍🏽❤️" * 30,
    }


def _uuid(rng: random.Random) -> str:
    text = rng.randbytes(16).hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
