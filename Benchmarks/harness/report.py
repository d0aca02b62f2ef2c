"""What a question answers, and how the answers look."""

import json
import os

from .bench import median


class Target:
    """A promise about a line, and whether it is kept."""

    def __init__(self, text, is_met):
        self.text, self.is_met = text, bool(is_met)


class Line:
    """One line of the table. Figures are medians; a side that does not apply is None."""

    def __init__(self, what, unit, nacre, pocketbase=None, raw=None, targets=(), cpu=None, foreign=0.0):
        self.what, self.unit, self.nacre, self.pocketbase, self.raw = what, unit, nacre, pocketbase, raw
        self.targets, self.cpu, self.foreign = list(targets), cpu or {}, foreign

    @classmethod
    def of_samples(cls, what, unit, samples, times_pocketbase=None, share_of_raw=None):
        """A line of throughput from what `take_turns` returned, with its targets as multiples."""
        figures = {name: median(of_side) for name, of_side in samples.items()}
        targets = []
        if times_pocketbase and "pocketbase" in figures:
            targets.append(Target(f"≥ {times_pocketbase}× PocketBase", figures["nacre"] >= times_pocketbase * figures["pocketbase"]))
        if share_of_raw:
            targets.append(Target(f"≥ {share_of_raw:.0%} of raw", figures["nacre"] >= share_of_raw * figures["raw"]))
        return cls(
            what, unit, figures["nacre"], figures.get("pocketbase"), figures.get("raw"), targets,
            cpu={name: median(of_side, "cpu_microseconds") for name, of_side in samples.items()},
            foreign=max(sample.foreign_share for of_side in samples.values() for sample in of_side))


class Answer:
    """What a question found: lines for the table, lines about memory, and remarks."""

    def __init__(self, lines=(), memory=(), remarks=()):
        self.lines, self.memory, self.remarks = list(lines), list(memory), list(remarks)


def figure(value):
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(over, under, form):
    return "–" if over is None or not under else form.format(over / under)


def verdict(line):
    return "–" if not line.targets else "met" if all(target.is_met for target in line.targets) else "**missed**"


def table(lines):
    rows = ["| what | nacre | PocketBase | raw | nacre : PocketBase | of raw | target | |", "| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |"]
    for line in lines:
        targets = "; ".join(
            target.text + ("" if target.is_met or len(line.targets) == 1 else " (missed)") for target in line.targets) or "–"
        rows.append(
            f"| {line.what} ({line.unit}) | {figure(line.nacre)} | {figure(line.pocketbase)} | {figure(line.raw)} | "
            f"{ratio(line.nacre, line.pocketbase, '{:.1f}×')} | {ratio(line.nacre, line.raw, '{:.0%}')} | {targets} | {verdict(line)} |")
    return "\n".join(rows)


def cpu_table(lines):
    rows = ["| what | nacre | PocketBase | raw | others had of the cores, at most |", "| --- | ---: | ---: | ---: | ---: |"]
    for line in lines:
        if line.cpu:
            cpu = [figure(line.cpu.get(side)) for side in ("nacre", "pocketbase", "raw")]
            rows.append(f"| {line.what} | {' | '.join(cpu)} | {line.foreign:.0%} |")
    return "\n".join(rows)


def memory_table(memory):
    rows = ["| after | server | at once | most | 5 s later |", "| --- | --- | ---: | ---: | ---: |"]
    for entry in memory:
        rows.append(f"| {entry['what']} | {entry['server']} | {entry['after']:.0f} | {entry['peak']:.0f} | {entry['rested']:.0f} |")
    return "\n".join(rows)


def parts(answers, notes):
    """The texts that the template's marks stand for. `answers` by question; `notes` say where the time goes, by question."""
    lines = [line for answer in answers.values() for line in answer.lines]
    missed = [name for name, answer in answers.items() if any(verdict(line) == "**missed**" for line in answer.lines)]
    reasons = "\n\n".join(notes[name] for name in missed if notes.get(name))
    return {
        "table": table(lines),
        "cpu": cpu_table(lines),
        "memory": memory_table([entry for answer in answers.values() for entry in answer.memory]),
        "remarks": "\n".join(f"- {remark}" for answer in answers.values() for remark in answer.remarks),
        "missed": reasons or "Nothing was missed." if not missed else reasons,
    }


def write(template_path, path, answers, notes, machine_line):
    with open(template_path) as file:
        text = file.read()
    for mark, value in (parts(answers, notes) | {"machine": machine_line}).items():
        text = text.replace("{{" + mark + "}}", value)
    with open(path + ".new", "w") as file:
        file.write(text)
    os.replace(path + ".new", path)


def save(path, answers):
    """Keeps all figures: for the page, which may be made of several runs, and for whoever wants to compare two."""
    document = {name: {"lines": [vars(line) | {"targets": [vars(target) for target in line.targets]} for line in answer.lines],
                       "memory": answer.memory, "remarks": answer.remarks} for name, answer in answers.items()}
    with open(path, "w") as file:
        json.dump(document, file, indent=1, ensure_ascii=False)


def saved(path):
    """What `save` kept; nothing where it never did."""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        document = json.load(file)
    return {name: Answer(
        [Line(**(line | {"targets": [Target(target["text"], target["is_met"]) for target in line["targets"]]})) for line in answer["lines"]],
        answer["memory"], answer["remarks"]) for name, answer in document.items()}
