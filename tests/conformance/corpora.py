"""What the corpora have of each operator: counts, a compact set, docs/operators.md. Needs etrt and NumPy only."""

import collections
import json
import pathlib
import shutil
import struct

import run_case

ROOT = pathlib.Path(__file__).resolve().parents[2]
MADE = ROOT / "tests" / "data" / "cases"
HANDED = ROOT.parent / "shared" / "corpus" / "ops"
ENOUGH = 5  # cases of an `aten` operator; of another, one


def peer_operators(handed):
    """Names of the operators that ExecuTorch's own runtime registers: a list beside the handed corpora."""
    listed = pathlib.Path(handed).parents[1] / "ref" / "operators.txt"
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    return {line.split("\t")[1].strip() for line in lines if line and line[0] != "#"}


def wanted_of(operator):
    return ENOUGH if operator.startswith("aten::") else 1


class Entry:
    """A case as the index of its corpus has it."""

    def __init__(self, corpus, text):
        self.corpus, self.text, self.name = pathlib.Path(corpus), text, text["name"]
        self.operators, self.dtype = set(text["ops"]), text.get("dtype", "")

    def files(self):
        folder = self.corpus / "cases"
        return [folder / f"{self.name}.safetensors", folder / self.text.get("pte", f"{self.name}.pte")]

    def size(self):
        return sum(f.stat().st_size for f in self.files())

    def passes(self):
        return run_case.Case(self.corpus, self.name).run() is None


def entries(corpus):
    if not (pathlib.Path(corpus) / "index.json").exists():
        return []
    return [Entry(corpus, text) for text in run_case.index(corpus)]


# ---- counts ----


def print_counts(handed, made):
    """A line an operator: its cases handed and made, and how many of all pass. Returns whether there are enough of each."""
    from etrt import portable_lib

    counts = {"handed": collections.Counter(), "made": collections.Counter(), "passing": collections.Counter()}
    for which, corpus in (("handed", handed), ("made", made)):
        for entry in entries(corpus):
            counts[which].update(entry.operators)
            counts["passing"].update(entry.operators if entry.passes() else ())
    operators = set(portable_lib._get_operator_names())
    required = peer_operators(handed)
    lacking = []
    print(f"{'operator':60} handed  made  passing")
    for name in sorted(operators | required):
        row = [counts[k][name] for k in counts]
        few = row[2] < wanted_of(name)
        lacking += [name] if few else []
        print(f"{name:60} {row[0]:6} {row[1]:5} {row[2]:8}{'  not there' if name not in operators else '  too few' if few else ''}")
    print(f"{len(operators)} operators, {len(lacking)} with too few passing cases, {len(required - operators)} of ExecuTorch's not there")
    return not lacking and not required - operators


# ---- the compact set ----


def choose(candidates, handed, keep):
    """The fewest and smallest cases that give every operator enough; those named in `keep` for certain."""
    have = collections.Counter()
    for entry in entries(handed):
        have.update(entry.operators)
    chosen, dtypes = [], collections.defaultdict(collections.Counter)

    def take(entry):
        if not entry.passes():
            return
        chosen.append(entry)
        for operator in entry.operators:
            have[operator] += 1
            dtypes[operator][entry.dtype] += 1

    for entry in [c for c in candidates if c.name in keep]:
        take(entry)
    of_operator = collections.defaultdict(list)
    for entry in candidates:
        for operator in entry.operators:
            of_operator[operator].append(entry)
    for operator in sorted(of_operator, key=lambda o: (len(of_operator[o]), o)):
        left = sorted((e for e in of_operator[operator] if e not in chosen), key=Entry.size)
        while have[operator] < wanted_of(operator) and left:
            # A dtype that the operator has least cases of; then the smallest, but not one without elements.
            best = min(left, key=lambda e: dtypes[operator][e.dtype])
            left.remove(best)
            take(best)
    return chosen


def write_compact(folders, out, handed=HANDED, keep=()):
    candidates = [entry for folder in folders for entry in entries(folder)]
    chosen = choose(candidates, handed, set(keep))
    copy_cases(chosen, out)


def write_with_program(case, pte, to):
    """Copies a case file; the copy names the program `pte`."""
    head, body = run_case.head_and_body(case)
    text = dict(json.loads(head["__metadata__"]["case"]), pte=pte)
    head["__metadata__"]["case"] = json.dumps(text, separators=(",", ":"))
    packed = json.dumps(head, separators=(",", ":")).encode()
    packed += b" " * (-len(packed) % 8)
    to.write_bytes(struct.pack("<Q", len(packed)) + packed + bytes(body))


def copy_cases(chosen, out):
    """Writes the cases as a corpus of its own; equal programs are kept once."""
    out = pathlib.Path(out)
    shutil.rmtree(out, ignore_errors=True)
    (out / "cases").mkdir(parents=True)
    programs, index = {}, []
    for entry in sorted(chosen, key=lambda e: e.name):
        case, program = entry.files()
        pte = programs.setdefault(program.read_bytes(), f"{entry.name}.pte")
        (out / "cases" / pte).write_bytes(program.read_bytes())
        write_with_program(case, pte, out / "cases" / case.name)
        index.append(dict(entry.text, pte=pte))
    lines = ",\n".join(json.dumps(text) for text in index)
    (out / "index.json").write_text('{"cases": [\n' + lines + "\n]}\n")
    print(f"{len(index)} cases, {len(programs)} programs, {sum(f.stat().st_size for f in (out / 'cases').iterdir())} bytes in {out}")


# ---- docs/operators.md ----

HEAD = """# Operators

Generated by `tests/conformance/make_cases.py --page`; `etrt ops --schema` prints the same names and arguments.

*Tested dtypes* are those of the first tensor of the conformance cases that pass: results are compared with eager PyTorch's. An
operator may take more. Operators marked **+** are beyond those that ExecuTorch's own runtime registers (with its quantized and
language model libraries). `Tensor(a!)` marks what a call writes.

Values differ from eager's, on purpose, where eager's are worse: half types are summed in float and rounded once; Bessel and Airy
functions are exact to float64, where eager's are off by up to 5e-5 of the value; `linalg_matrix_exp` of half types is finite.
Eigenvectors and singular vectors may have another sign, complex eigenvalues another order.

| operator | | arguments and results | tested dtypes |
|---|---|---|---|
"""

ORDER = "f32 f64 f16 bf16 c64 i64 i32 i16 i8 u8 u16 u32 u64 bool f8e4m3 f8e5m2".split()


def page(handed, made):
    """The text of docs/operators.md."""
    from etrt._library import lib, text
    from etrt.portable_lib import _get_operator_names

    dtypes = collections.defaultdict(set)
    for corpus in (handed, made):
        for entry in entries(corpus):
            if entry.passes():
                for operator in entry.operators:
                    dtypes[operator].add(entry.dtype)
    peer, lines = peer_operators(handed), []
    for name in _get_operator_names():
        schema = text(lib.et_operator_schema(name.encode())).replace("|", "\\|")
        tested = " ".join(d for d in ORDER if d in dtypes[name])
        lines.append(f"| `{name}` | {'' if name in peer else '+'} | `{schema}` | {tested} |\n")
    return HEAD + "".join(lines)


def operators_of_page(markdown):
    """(name, arguments) of each row."""
    rows = [line.split(" | ") for line in markdown.splitlines() if line.startswith("| `")]
    return [(cells[0][3:-1], cells[2][1:-1].replace("\\|", "|")) for cells in rows]
