"""Random queries of Spark SQL, with words in odd places: what the splicer has to find its way through."""

# ruff: noqa: E501 -- pieces of queries are read in lists

from __future__ import annotations

import random

NAMES = ["t", "orders", "`a b`", "s.t", "`s`.`from`", "a.b.c", "`日本`", "t2", "`order`", "T"]
ALIASES = [
    "x",
    "`x y`",
    "o",
    "first",
    "date",
    "version",
    "timestamp",
    "changes",
    "year",
    "a1",
    "zone",
    "value",
    "order_",
    "item",
]
COLUMNS = ["a", "b", "x.a", "`from`", "`select`", "c", "t.a", "d.e.f", "arr[0]", "m['from']", "v:a.b"]
VALUES = [
    "1",
    "'it''s'",
    "'from u'",
    '"join v"',
    "NULL",
    "date'2026-01-01'",
    "1.5BD",
    "r'\\from'",
    ":p",
    "X'1F'",
    "-2",
    "true",
]
GAPS = [" ", "\n", "  ", " /* from z */ ", " -- join q\n", "\t"]


class Writer:
    """Writes random queries."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.ctes: list[str] = []

    def one(self, options: list[str]) -> str:
        return self.pick.choice(options)

    def maybe(self, text: str, chance: float = 0.3) -> str:
        return text if self.pick.random() < chance else ""

    def gap(self) -> str:
        return self.one(GAPS) if self.pick.random() < 0.3 else " "

    def expression(self, depth: int) -> str:
        simple = [self.one(COLUMNS), self.one(VALUES)]
        if depth <= 0:
            return self.one(simple)
        inner = self.expression(depth - 1)
        return self.one([
            *simple,
            f"({inner})",
            f"f({inner}, {self.expression(depth - 1)})",
            f"EXTRACT(YEAR FROM {inner})",
            f"TRIM(BOTH 'x' FROM {inner})",
            f"SUBSTRING({inner} FROM 1 FOR 2)",
            f"{inner} IS DISTINCT FROM {self.one(COLUMNS)}",
            f"{inner} IS NOT DISTINCT FROM {self.one(VALUES)}",
            f"CASE WHEN {inner} THEN {self.one(VALUES)} ELSE {inner} END",
            f"CAST({inner} AS STRING)",
            f"{inner} + {self.one(COLUMNS)}",
            f"{inner} IN ({self.one(VALUES)}, {self.one(COLUMNS)})",
            f"{inner} IN ({self.query(depth - 2)})",
            f"EXISTS ({self.query(depth - 2)})",
            f"({self.query(depth - 2)})",
            f"transform(arr, z -> z + {self.one(VALUES)})",
            f"sum({inner}) OVER (PARTITION BY {self.one(COLUMNS)} ORDER BY b)",
        ])  # fmt: skip

    def relation(self, depth: int) -> str:
        name = self.one([*NAMES, *self.ctes]) if self.pick.random() < 0.9 else "IDENTIFIER('s.t')"
        moment = self.maybe(
            self.one(
                [
                    " VERSION AS OF 'v1'",
                    " FOR VERSION AS OF 3",
                    " TIMESTAMP AS OF '2026-01-01'",
                    "@v3",
                    " FOR SYSTEM_TIME AS OF '2026-01-01'",
                ]
            ),
            0.25,
        )
        sample = self.maybe(
            self.one([" TABLESAMPLE (10 PERCENT)", " TABLESAMPLE (5 ROWS)", " TABLESAMPLE (BUCKET 1 OUT OF 4)"]), 0.1
        )
        alias = self.maybe(
            self.one([f" {self.one(ALIASES)}", f" AS {self.one(ALIASES)}", f" AS {self.one(ALIASES)}(p, q)"]), 0.5
        )
        table = f"{name}{moment}{sample}{alias}"
        if depth <= 0:
            return table
        return self.one([
            table, table, table,
            f"({self.query(depth - 1)}) {self.one(ALIASES)}",
            f"({self.joined(depth - 1)})",
            "VALUES (1), (2) AS v(a)",
            f"range({self.pick.randint(1, 9)}) r",
            f"LATERAL ({self.query(depth - 1)}) l",
        ])  # fmt: skip

    def joined(self, depth: int) -> str:
        text = self.relation(depth)
        for _ in range(self.pick.choice([0, 0, 1, 1, 2])):
            kind = self.one(
                ["JOIN", "LEFT JOIN", "FULL OUTER JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "INNER JOIN", "RIGHT JOIN"]
            )
            on = self.one([f" ON {self.expression(1)}", " USING (a, b)"])
            text += f"{self.gap()}{kind} {self.relation(depth - 1)}{on}"
        return text

    def select(self, depth: int) -> str:
        listed = ", ".join(
            self.expression(depth - 1) + self.maybe(f" AS {self.one(ALIASES)}")
            for _ in range(self.pick.choice([1, 1, 2, 3]))
        )
        sources = ", ".join(self.joined(depth - 1) for _ in range(self.pick.choice([1, 1, 1, 2])))
        parts = [
            f"SELECT {self.maybe('DISTINCT ', 0.1)}{self.one([listed, '*', 'x.*', '* EXCEPT (a, b)'])}",
            f"FROM{self.gap()}{sources}",
            self.maybe("LATERAL VIEW explode(arr) e AS p, q", 0.1),
            self.maybe(f"WHERE {self.expression(depth - 1)}", 0.5),
            self.maybe(f"GROUP BY {self.one(COLUMNS)}, {self.one(COLUMNS)}{self.maybe(' WITH ROLLUP', 0.2)}", 0.3),
            self.maybe(f"HAVING {self.expression(0)} > 1", 0.1),
        ]
        return self.gap().join(p for p in parts if p)

    def query(self, depth: int) -> str:
        if depth < 0:
            return f"SELECT {self.one(COLUMNS)} FROM {self.one(NAMES)}"
        text = self.select(depth)
        if self.pick.random() < 0.15:
            kind = self.one(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "MINUS"])
            text += f" {kind} {self.one([self.select(depth - 1), f'TABLE {self.one(NAMES)}', 'VALUES (1, 2)'])}"
        return text + self.maybe(f" ORDER BY {self.one(COLUMNS)} DESC NULLS LAST", 0.2) + self.maybe(" LIMIT 3", 0.2)

    def whole(self) -> str:
        if self.pick.random() < 0.15:
            return f"FROM {self.relation(0)} |> WHERE {self.expression(1)} |> SELECT a |> JOIN {self.relation(0)} USING (a) |> UNION ALL TABLE {self.one(NAMES)}"
        if self.pick.random() < 0.3:
            name = self.one(["cte", "`c d`", "t"])
            body = self.query(1)
            self.ctes.append(name)
            return f"WITH {name}{self.maybe('(k)')} AS ({body}), second AS ({self.query(1)}) {self.query(2)}"
        return self.query(2)
