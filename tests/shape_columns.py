"""Columns of the tables in `shapes`, made from seeds: `{A}` is shared by the reports,
`{PLAIN.score}` is of a frame.
"""

import numpy as np
import pandas as pd
from significance_tables import rng, wide

# Columns of the tables of tools -------------------------------------------------------------------

N = 40
ROW = np.arange(N)
RNG = np.random.default_rng(5)
A = RNG.uniform(0.2, 0.9, N).round(3)
B = (A + RNG.normal(0.03, 0.05, N)).clip(0, 1).round(3)
LABEL = RNG.permutation(np.arange(N) % 2)
SCORE = (0.3 + 0.4 * LABEL + RNG.uniform(-0.25, 0.25, N)).round(3)
OTHER = (0.4 + 0.2 * LABEL + RNG.uniform(-0.35, 0.35, N)).round(3)
ACTUAL = RNG.gamma(3, 20, N).round(1)
FORECAST = (ACTUAL + RNG.normal(0, 8, N)).round(1)
WORSE = (ACTUAL + RNG.normal(3, 14, N)).round(1)
RELEVANT = RNG.integers(1, 9, N)
DENSE = RNG.uniform(size=96)  # the order of the draws is that of the first tables
ORDERS = RNG.poisson(2, N)
CLICK = RNG.integers(0, 2, N)
TRUE = LABEL == 1
Q = [f"q{i:02d}" for i in ROW]
R = [f"r{i:03d}" for i in ROW]
ARM = np.where(TRUE, "new", "old")
ARABIC = {ord("0") + digit: 0x660 + digit for digit in range(10)}


def comma(values):
    return [str(value).replace(".", ",") for value in values]


def arabic(values):
    return [str(value).translate(ARABIC) for value in values]


SHARED = {
    "Q": Q,
    "R": R,
    "ROW": ROW,
    "ROW1": ROW + 1,
    "ROW3": [f"{i:03d}" for i in ROW],
    "ROW9": ROW + 9,
    "TEN": 10 * ROW,
    "TENTH": ROW // 10,
    "LAST": ROW % 10,
    "FIVE": ROW % 5,
    "FOUR": ROW % 4,
    "FIRST": ROW % 2,
    "ZIP": 10115 + ROW,
    "DATE": 20240101 + ROW,
    "DAY": pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"),
    "Q5": np.repeat(Q[:8], 5),
    "Q_AGAIN": [Q[0], *Q[:39]],
    "SESSION": np.repeat(R[:20], 2),
    "A": A,
    "B": B,
    "A4": [f"{a:.4f}" for a in A],
    "B4": [f"{b:.4f}" for b in B],
    "COMMA_A": comma(A),
    "COMMA_B": comma(B),
    "COMMA_SCORE": comma(SCORE),
    "ARABIC_A": arabic(A),
    "ARABIC_ACTUAL": arabic(ACTUAL),
    "PERCENT_A": [f"{a:.1%}" for a in A],
    "PERCENT_B": [f"{b:.1%}" for b in B],
    "PERCENT_SCORE": [f"{score:.1%}" for score in SCORE],
    "HUNDRED_B": 100 * B,
    "PERCENT": 100 * SCORE,
    "STARS": [f"{b:.3f}{'**' if i % 3 else ''}" for i, b in enumerate(B)],
    "DIFFERENCE": B - A,
    "RATIO": B / A,
    "LOW": A - 0.1,
    "HIGH": A + 0.1,
    "MS_A": 900 * A,
    "MS_B": 900 * B,
    "HIT": (A > 0.5) * 1,
    "HIT_B": (B > 0.5) * 1,
    "LABEL": LABEL,
    "SCORE": SCORE,
    "OTHER": OTHER,
    "REST": 1 - SCORE,
    "REST3": [f"{1 - score:.3f}" for score in SCORE],
    "MARGIN": (SCORE - 0.5) * 6,
    "SURE": 0.5 + abs(SCORE - 0.5),
    "SAID": np.where(SCORE > 0.5, "POSITIVE", "NEGATIVE"),
    "POSITIVE": SCORE > 0.5,
    "TRUE": TRUE,
    "TRUE_JSON": np.where(TRUE, "true", "false"),
    "CODE": LABEL + 1,
    "TRUE_R": np.where(TRUE, "TRUE", "FALSE"),
    "T": np.where(TRUE, "t", "f"),
    "YES": np.where(TRUE, "yes", "no"),
    "SIGN": np.where(TRUE, 1, -1),
    "ONES": ["1.0" if t else i % 2 * "0." + "0" for i, t in enumerate(TRUE)],
    "TRUE_MIXED": [str(t).upper() if i % 2 else str(t) for i, t in enumerate(TRUE)],
    "CLASS": ["cat", "dog", "eel", "cat"] * 10,
    "CAT": A / 3,
    "DOG": B / 3,
    "EEL": 1 - A / 3 - B / 3,
    "ACTUAL": ACTUAL,
    "FORECAST": FORECAST,
    "WORSE": WORSE,
    "LOWER": FORECAST - 9,
    "UPPER": FORECAST + 9,
    "MINUS": -FORECAST,
    "EIGHTHS": ACTUAL + 0.125,
    "RELEVANT": RELEVANT,
    "SHOWN": RELEVANT + 99,
    "DENSE": DENSE,
    "ARM": ARM,
    "USERS_ARM": np.repeat(ARM[:20], 2),
    "ORDERS": ORDERS,
    "CLICK": CLICK,
    "MIXED_ARM": [arm.title() if i % 3 else arm for i, arm in enumerate(ARM)],
    "POSITION": [1, 2] * 20,
    "BLANK_ARM": [f"{arm} " if i % 3 else arm for i, arm in enumerate(ARM)],
    "SECOND": [2, 1] * 20,
    "TEAM": ["new", "old"] * 20,
    "TEAMS": ["new", "old", "(none)", "old"] * 10,
    "DECIDED": (SCORE > 0.5) * 1,
    "JSON_REST": [f"{1 - score:.10g}" for score in SCORE],
    "FIXED_WIDTH": [f"{q:5} {a:7} {b:6}" for q, a, b in zip(Q, A, B, strict=True)],
    "SET": np.where(ROW % 4, "train", "test"),
}


# Frames of a report -------------------------------------------------------------------------------


def several(**columns):
    """A frame of columns that repeat to the longest."""
    size = max(len(values) for values in columns.values() if not isinstance(values, str))
    return pd.DataFrame({name: np.resize(values, size) for name, values in columns.items()})


def classification():
    draw = np.random.default_rng(2)
    label = draw.permutation([0, 1] * 30)
    scores = {
        name: (1 / (1 + np.exp(-w * label - draw.normal(size=60)))).round(6)
        for name, w in (("tree", 1), ("net", 2))
    }
    plain = pd.DataFrame({"id": [f"r{i:02}" for i in range(60)], "label": label, **scores})
    plain = plain.assign(
        user=[f"u{i // 3}" for i in range(60)], word=np.where(label, "bad", "good")
    )
    draw = np.random.default_rng(3)
    names = np.array(["cat", "dog", "emu"])
    actual = draw.integers(0, 3, 60)
    shares = np.exp(np.eye(3)[actual] + draw.normal(size=(60, 3)))
    shares /= shares.sum(1, keepdims=True)
    many = pd.DataFrame(
        {"label": names[actual], "predicted": names[shares.argmax(1)]}
        | dict(zip(names, shares.T, strict=True))
    )
    draw = np.random.default_rng(5)
    tags = {}
    for name in names:
        tags |= {f"y_{name}": draw.permutation([0, 1] * 30), f"p_{name}": draw.uniform(size=60)}
    return {"PLAIN": plain, "MANY": many, "TAGS": pd.DataFrame(tags)}


def interleaving():
    draw = np.random.default_rng(3)
    rows = []
    for session in range(40):
        teams = draw.permutation(["a", "b", "a", "b"])
        rows += [
            (f"s{session:02}", f"u{session // 2:02}", i + 1, teams[i], int(draw.uniform() < 0.4))
            for i in range(4)
        ]
    log = pd.DataFrame(rows, columns=["session", "user", "position", "team", "click"])
    draw = np.random.default_rng(4)
    arm = draw.permutation(["a", "b"] * 40)
    orders = draw.poisson(2, 80)
    users = pd.DataFrame(
        {
            "user": [f"u{i:02}" for i in range(80)],
            "arm": arm,
            "orders": orders,
            "revenue": orders * 9.5,
        }
    )
    users = users.assign(before=draw.poisson(2, 80), number=(arm == "b") * 1, more=orders + 1)
    log = log.assign(place=log["position"] - 1, clicked=log["click"] == 1)
    return {"LOG": log, "USERS": users} | {
        f"ARM_{name.upper()}": rows for name, rows in users.groupby("arm")
    }


def ranking():
    draw = np.random.default_rng(4)
    rows = []
    for system, skill in (("bm25", 0.4), ("dense", 1.2)):
        for query in range(8):
            grades = np.random.default_rng(query).permutation([1, 1, 0, 0, 0, 0])
            score = (skill * grades + draw.normal(size=6)).round(6)
            rows += [(system, f"q{query}", f"d{i}", score[i], grades[i]) for i in range(6)]
    lists = pd.DataFrame(rows, columns=["system", "query", "item", "score", "grade"])
    lists["rank"] = lists.groupby(["system", "query"])["score"].rank(ascending=False).astype(int)
    lists["user"] = [f"u{int(query[1:]) // 2}" for query in lists["query"]]
    lists["dense"] = np.resize(lists["score"][48:], 96)
    by_rank = lists.sort_values(["system", "query", "rank"])
    judged = lists[48:][lists["grade"][48:] == 1]
    docs = [
        (q, f"d{i}", 10 - i, int((at + i) % 4 == 0), i)
        for at, q in enumerate(Q[:12])
        for i in range(8)
    ]
    docs = pd.DataFrame(docs, columns=["query", "item", "hits", "grade", "place"])
    docs = docs.assign(
        rank=docs["place"] + 1, number=np.arange(96) // 8, topic=docs["query"].str.replace("q", "t")
    )
    docs = docs.assign(
        letter=list("ESCI") * 24,
        below=docs["grade"].replace(0, -1),
        lost=docs["hits"].astype(str).replace("10", "nan"),
    )
    frames = {"LISTS": lists, "GAPS": lists[lists["rank"] > 1], "DOCS": docs}
    passages = {f"PASSAGES_{name.upper()}": rows for name, rows in by_rank.groupby("system")}
    numbers = {
        name: rows.assign(query=rows["query"].str[1:], item=rows["item"].str[1:])
        for name, rows in passages.items()
    }
    return (
        frames
        | numbers
        | {
            "PASSAGES_JUDGED": judged.assign(
                query=judged["query"].str[1:], item=judged["item"].str[1:]
            )
        }
    )


def rating():
    draw = np.random.default_rng(1)
    actual = draw.gamma(2, 5, N).round(3)
    frame = pd.DataFrame(
        {
            "id": [f"r{i:02}" for i in ROW],
            "actual": actual,
            "mean": (actual + draw.normal(size=N)).round(3),
        }
    )
    frame = frame.assign(
        tree=(actual + 2 * draw.normal(size=N)).round(3), person=[f"p{i // 4}" for i in ROW]
    )
    return {"PLAIN": frame}


def answers(samples):
    """Sampled answers of two models to 20 questions, of which a is right more often."""
    names = ["question_id", "model", "sample"]
    rows = pd.MultiIndex.from_product([Q[:20], ["a", "b"], range(samples)], names=names).to_frame(
        index=False
    )
    number = rows["question_id"].str[1:].astype(int)
    correct = rng(1).random(len(rows)) < np.where(rows["model"] == "a", 0.8, 0.4)
    category = {
        "category": np.where(number % 2, "odd", "even"),
        "cluster": "c" + (number % 7).astype(str),
    }
    return rows.assign(**category, correct=correct * 1, right=correct, row=range(len(rows)))


def significance():
    draw = np.random.default_rng(6)
    units = pd.DataFrame(
        {
            "query": Q[:30],
            "a": draw.uniform(size=30).round(4),
            "b": (draw.uniform(size=30) + 0.3).round(4),
        }
    )
    units = units.assign(
        session=range(100, 130),
        a4=[f"{a:.4f}" for a in units["a"]],
        b4=[f"{b:.4f}" for b in units["b"]],
    )
    draw = np.random.default_rng(8)
    rows = [
        (Q[q], "math" if q % 2 else "law", model, k, int(draw.uniform() < share))
        for q in range(30)
        for model, share in (("a", 0.4), ("b", 0.6))
        for k in range(3 if q else 2)
    ]
    draws = pd.DataFrame(rows, columns=["question_id", "category", "model", "sample", "correct"])
    beside = draws.pivot(
        index=["question_id", "category", "sample"], columns="model", values="correct"
    ).reset_index()
    once = answers(1)
    many = pd.concat([once, *[once[once["question_id"] == "q00"]] * 50])
    seeds = pd.concat(
        [once, *[once[once["question_id"] == "q00"].assign(sample=i) for i in range(1, 40)]]
    )
    table = wide().assign(
        user=[f"u{i % 6}" for i in range(60)], label=np.arange(60) % 2, row=range(60)
    )
    table["gaps"] = table["b"].astype(object).where(~np.isin(np.arange(60), [1, 5, 7, 9]), "n/a")
    twice = pd.concat([table] * 2, ignore_index=True).assign(seed=np.repeat([1, 2], 60))
    twice["a"] += rng(4).normal(0, 0.3, 120)
    more = pd.concat([twice, *[twice[twice["query"] == "q3"]] * 30])
    folds = several(fold=np.repeat(range(5), 2), system=["a", "b"], value=rng(1).random(30))
    runs = pd.DataFrame({"a": rng(1).random(10), "b": rng(2).random(10)})
    return {
        "UNITS": units,
        "DRAWS": draws,
        "BESIDE": beside,
        "ANSWERS": answers(5),
        "ONCE": once,
        "MANY": many,
        "SEEDS": seeds,
        "WIDE": table,
        "TWICE": twice,
        "MORE": more,
        "FOLDS": folds,
        "RUNS": runs,
        "PAIRS": several(model_a=["x", "y"] * 20, model_b=["y", "x"]),
    }


def validation():
    draw = np.random.default_rng(9)
    label = draw.permutation([0, 1] * 60)
    score = (1 / (1 + np.exp(-2 * label - draw.normal(size=120)))).round(6)
    fold = draw.permutation(np.arange(120) % 5)
    frame = pd.DataFrame(
        {"id": [f"r{i:03}" for i in range(120)], "label": label, "score": score, "fold": fold}
    )
    side = np.where(fold == 0, "test", "train")
    frame = frame.assign(
        turned=score[::-1], side=side, title=np.char.title(side), number=score * 7 + 1.5
    )
    frame = frame.assign(
        again=np.random.default_rng(1).permutation(fold), group=[f"g{i // 2}" for i in range(120)]
    )
    frame = frame.assign(
        day=pd.date_range("2024-01-01", periods=120).strftime("%Y-%m-%d"),
        x1=score + 0.1,
        row=range(120),
    )
    return {
        "PLAIN": frame.assign(
            x2=np.random.default_rng(2).normal(size=120).round(3), city=["ulm", "bonn"] * 60
        )
    }


def columns(report):
    """The columns of a report's tables, as texts."""
    frames = {
        f"{name}.{column}": frame[column]
        for name, frame in globals()[report]().items()
        for column in frame
    }
    return {
        name: ["" if pd.isna(value) else str(value) for value in values]
        for name, values in (SHARED | frames).items()
    }
