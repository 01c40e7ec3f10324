"""Interleaved sessions, and A/B tables, as people have them."""

import numpy as np
import pandas as pd
from shapes.shape import Refused, Right, Shape, with_cell

SESSIONS, USERS = 40, 80


def _log() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    rows = []
    for session in range(SESSIONS):
        teams = rng.permutation(["a", "b", "a", "b"])
        rows += [
            (f"s{session:02}", f"u{session // 2:02}", place + 1, teams[place], int(rng.uniform() < 0.4))
            for place in range(4)
        ]
    return pd.DataFrame(rows, columns=["session", "user", "position", "team", "click"])


def _users() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    arm = rng.permutation(["a", "b"] * (USERS // 2))
    orders = rng.poisson(2, USERS)
    return pd.DataFrame(
        {
            "user": [f"u{i:02}" for i in range(USERS)],
            "arm": arm,
            "orders": orders,
            "revenue": (orders * 9.5).round(2),
            "before": rng.poisson(2, USERS),
        }
    )


LOG, TABLE = _log(), _users()


def user_share(log: pd.DataFrame) -> dict[str, float]:
    """Each user's share of clicks that went to a team, averaged over the users who clicked."""
    clicked = log[log["click"] > 0]
    counts = clicked.groupby(["user", "team"])["click"].sum().unstack(fill_value=0)
    return counts.div(counts.sum(axis=1), axis=0).mean().to_dict()


def clicking(log: pd.DataFrame) -> int:
    """The users who clicked."""
    return log[log["click"] > 0]["user"].nunique()


RIGHT = Right({"a", "b"}, "user", clicking(LOG), user_share(LOG))
MEANS = TABLE.groupby("arm")["orders"].mean().to_dict()
ARMS = Right({"a", "b"}, "user", USERS // 2, MEANS)
OFF = {"world": "none"}


def log(name: str, file: str, content, expected, **parameters) -> Shape:
    """A log of sessions."""
    return Shape(name, {file: content}, {"log": f"@{file}", **OFF, "preference": "user_share", **parameters}, expected)


def users(name: str, file: str, content, expected, **parameters) -> Shape:
    """A table of users."""
    return Shape(name, {file: content}, {"users": f"@{file}", **OFF, "metrics": "orders", **parameters}, expected)


SHAPES = [
    log("sessions", "a.csv", LOG, RIGHT),
    log("sessions with further numbers", "a.csv", LOG.assign(seconds=3.5, year=2024), RIGHT),
    log(
        "names of its own",
        "a.csv",
        LOG.set_axis(["visit", "member", "place", "ranker", "hits"], axis=1),
        Right({"a", "b"}, "member", RIGHT.n, RIGHT.value),
        columns="session=visit,user=member,position=place,team=ranker,outcome=hits",
    ),
    log(
        "names of its own, not told",
        "a.csv",
        LOG.set_axis(["visit", "member", "place", "ranker", "hits"], axis=1),
        Refused("session"),
    ),
    log("sessions without positions", "a.csv", LOG.drop(columns="position"), Refused("position")),
    log("sessions without clicks", "a.csv", LOG.drop(columns="click"), Refused("outcome")),
    log("positions that start at 0", "a.csv", LOG.assign(position=LOG["position"] - 1), Refused(r"position .*0")),
    log("an unknown team", "a.csv", with_cell(LOG, "team", 5, "c"), Refused("team|arms|neutral")),
    log(
        "a neutral team",
        "a.csv",
        with_cell(LOG, "team", 5, "both"),
        Right({"a", "b"}, "user", clicking(LOG)),
        neutral="both",
    ),
    log("clicks true and false", "a.parquet", LOG.assign(click=LOG["click"] == 1), RIGHT),
    log("a session of two users", "a.csv", with_cell(LOG, "user", 2, "other"), Refused("user")),
    users("users", "a.csv", TABLE, ARMS),
    users("variants", "a.csv", TABLE.rename(columns={"arm": "variant", "user": "user_id"}), ARMS),
    users("users without ids", "a.csv", TABLE.drop(columns="user"), Right({"a", "b"}, "row", USERS // 2, MEANS)),
    users("a metric that is not there", "a.csv", TABLE, Refused("clicks"), metrics="clicks"),
    users("no arm", "a.csv", TABLE.drop(columns="arm"), Refused("arm")),
    users("one arm", "a.csv", TABLE.assign(arm="a"), Refused("arm")),
    users(
        "numbers as arms",
        "a.csv",
        TABLE.assign(arm=TABLE["arm"].map({"a": 0, "b": 1})),
        Right({"0", "1"}, "user", USERS // 2, {"0": MEANS["a"], "1": MEANS["b"]}),
    ),
    users(
        "a ratio",
        "a.csv",
        TABLE.assign(orders=TABLE["orders"] + 1),
        Right({"a", "b"}, "user", USERS // 2),
        metrics="revenue/orders",
    ),
    users(
        "a user in two arms",
        "a.csv",
        pd.concat([TABLE, TABLE.iloc[[0]].assign(arm=lambda f: np.where(f["arm"] == "a", "b", "a"))]),
        Right({"a", "b"}, "user", USERS // 2),
    ),
    Shape(
        "partitions by arm",
        {f"t/arm={name}/part-0.parquet": rows.drop(columns="arm") for name, rows in TABLE.groupby("arm")},
        {"users": "@t", **OFF, "metrics": "orders"},
        ARMS,
    ),
]
