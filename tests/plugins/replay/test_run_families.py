"""Runs of one family become one program: what differs is a value, open, or a reason to refuse."""

from __future__ import annotations

import pytest

from hisa.errors import UsageError
from hisa.plugins.replay.fitting import values_in
from hisa.plugins.replay.program_records import (
    Effect,
    Parameter,
    Program,
    ProgramStep,
    Target,
    filled,
    with_parameters,
)
from hisa.plugins.replay.run_families import of_family


def click(name: str, *beside: str, role: str = "push button", **more: object) -> ProgramStep:
    target = Target.model_validate({"role": role, "name": name, "beside": beside, **more})
    return ProgramStep(action="pyautogui.click(1, 1)", targets=(target,))


def typed(text: str, label: str = "Name", *effects: Effect) -> ProgramStep:
    focus = Target(role="entry", label=label)
    return ProgramStep(action=f"pyautogui.write({text!r})", focus=focus, effects=effects)


def run(instruction: str, *steps: ProgramStep, check: object = None) -> Program:
    task = {"id": "t", "instruction": instruction, "check": check}
    return Program(
        name="p",
        instruction=instruction,
        source=(instruction[:12],),
        screen=(1280, 720),
        task=task,
        steps=steps,
    )


def taken(*programs: Program) -> Program:
    program = of_family(programs)
    assert not program.parameters, "nothing becomes a parameter by itself"
    return with_parameters(program, program.proposed)


def test_what_is_clicked_and_typed_as_the_instruction_says_is_a_value() -> None:
    def ask(who: str, text: str) -> Program:
        effect = Effect(what="came", role="static", name=f"{who} has {text}")
        return run(
            f'Open "{who}" and note “{text}”.',
            click(who, role="link"),
            typed(text, "Note", effect),
            click("Save"),
        )

    program = taken(ask("Ann Berg", "a rose"), ask("Bo Lind", "ink"), ask("Cy", "6 eggs"))
    assert program.instruction == 'Open "{{link}}" and note “{{note}}”.'
    values = values_in(program, 'Open "Di Fo" and note “x, and y”.')
    assert values == {"link": "Di Fo", "note": "x, and y"}
    played = filled(program, values)
    assert played.steps[0].targets[0].name == "Di Fo"
    assert played.steps[1].action == "pyautogui.write('x, and y')"
    assert played.steps[1].effects[0].name == "Di Fo has x, and y"
    assert played.steps[2].targets[0].name == "Save"


def test_a_row_is_told_by_the_value_and_the_rest_of_it_is_any() -> None:
    def ship(who: str, *rest: str) -> Program:
        return run(f"Ship the order of {who}.", click("Ship", who, *rest, alike=4, nth=len(rest)))

    program = taken(ship("Ann", "1021", "lorem ipsum", "5 min ago"), ship("Bo", "7", "9 min ago"))
    assert program.steps[0].targets[0].beside == ("{{row}}", "{{#}}", "{{#}} min ago", "{{*}}")


def test_words_around_the_value_are_no_part_of_it() -> None:
    def save(name: str) -> Program:
        check = {"all": [{"file": f"~/{name}.txt", "equals": "x"}]}
        step = typed(f"/home/user/{name}.txt", "File")
        return run(f"Save it as {name}.txt.", step, check=check)

    program = taken(save("ann"), save("bo"))
    assert program.instruction == "Save it as {{file}}.txt."
    assert program.steps[0].action == "pyautogui.write('/home/user/{{file}}.txt')"
    assert program.task["check"]["all"][0]["file"] == "~/{{file}}.txt"


def test_a_screen_that_shows_the_instruction_adds_no_value() -> None:
    def select(name: str) -> Program:
        words = f"Select {name} and click Submit."
        return run(words, click(name, words, role="radio button"), click("Submit", words))

    program = taken(select("ant"), select("bee"), select("cat"))
    assert program.instruction == "Select {{radio_button}} and click Submit."
    assert program.steps[1].targets[0].beside == (program.instruction,)


def test_one_letter_is_a_value_too() -> None:
    program = taken(*(run(f'Press "{key}".', click(key)) for key in "ab"))
    assert filled(program, {"push_button": "c"}).steps[0].targets[0].name == "c"


@pytest.mark.parametrize(
    ("one", "two", "reason"),
    [
        (
            click("lorem"),
            click("ipsum"),
            "no instruction tells the act on push button lorem, ipsum",
        ),
        (
            click("Ship", "a", alike=3),
            click("Ship", "b", alike=3),
            "nothing that stays tells",
        ),
        (
            click("", alike=3, nth=0),
            click("", alike=3, nth=2),
            "nothing that stays tells",
        ),
        (click("Save"), click("Save", role="link"), "action 1 is not the same"),
        (
            click("", role="image", box=(0, 0, 400, 300)),
            click("", role="image", box=(0, 0, 400, 300)).model_copy(
                update={"action": "pyautogui.click(200, 150)"}
            ),
            "action 1 is not the same",
        ),
        (
            ProgramStep(action="pyautogui.press('a')"),
            ProgramStep(action="pyautogui.press('b')"),
            "action 1 is not the same",
        ),
    ],
)
def test_what_no_instruction_tells_is_refused(
    one: ProgramStep, two: ProgramStep, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        of_family([run("Do it.", one), run("Do it.", two)])


def test_other_steps_words_or_checks_are_no_family() -> None:
    with pytest.raises(UsageError, match="action 2 is not the same"):
        of_family([run("Do it.", click("A")), run("Do it.", click("A"), click("B"))])
    with pytest.raises(UsageError, match=r"differ in: once\., twice\."):
        of_family([run("Do it once.", click("A")), run("Do it twice.", click("A"))])
    with pytest.raises(UsageError, match="checks differ"):
        of_family([run("Do it.", click("A"), check={"all": [{"file": n}]}) for n in "ab"])


def test_a_value_that_stands_elsewhere_by_chance_is_refused() -> None:
    runs = [run(f"Open {name}.", click(name), click("Save")) for name in ("Save", "Ann")]
    with pytest.raises(UsageError, match="no instruction tells the act on push button Save, Save"):
        of_family(runs)


def test_what_is_typed_otherwise_by_no_instruction_is_proposed_and_fits_no_task() -> None:
    program = taken(*(run("Note it.", typed(text)) for text in ("milk", "eggs")))
    assert {name: known.value for name, known in program.parameters.items()} == {"name": "milk"}
    assert program.steps[0].action == "pyautogui.write('{{name}}')"
    assert "no words of the task say what name is to be" in values_in(program, "Note it.")


def test_a_value_does_not_mark_the_form_of_another() -> None:
    check = {"all": [{"file": "/tmp/a.txt", "equals": "a file"}]}
    program = with_parameters(
        run("Save it.", typed("/home/user/a.txt"), check=check),
        {"path": Parameter(value="/home/user/a.txt"), "kind": Parameter(value="file")},
    )
    assert program.task["check"]["all"][0] == {"file": "/tmp/{{path|file}}", "equals": "a {{kind}}"}
