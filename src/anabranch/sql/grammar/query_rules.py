"""Spark's rules for queries, after its own grammar (SqlBaseParser.g4 of Spark 4.3).

Capitals are words, `'…'` symbols, `<…>` kinds of tokens; `?`, `*` and `+` are as usual, and `#` is one or more with
commas between. Hints are comments here. What Spark's parser accepts only to give a better error is left out.
"""

QUERY_RULES = """
query : ctes? query_term organization
ctes : WITH RECURSIVE? cte#
cte : identifier columns? (MAX RECURSION LEVEL integer)? AS? '(' query ')'
columns : '(' identifier# ')'
organization :
    (ORDER BY sort_item#)? (CLUSTER BY expression#)? (DISTRIBUTE BY expression#)? (SORT BY sort_item#)?
        windows? (LIMIT (ALL | expression))? (OFFSET expression)?
sort_item : expression (ASC | DESC)? (NULLS (FIRST | LAST))?

query_term : query_primary (set_operator query_primary | ('|>' | '|') pipe)*
set_operator : (UNION | INTERSECT | EXCEPT | MINUS) (DISTINCT | ALL)?
query_primary : specification | from_statement | TABLE reference | inline_table | '(' query ')'
specification :
    transform from? lateral_view* where? grouping? having? windows?
    | select from? lateral_view* where? grouping? having? windows? qualify?
from_statement :
    from (transform where? organization | select lateral_view* where? grouping? having? windows? qualify?
        organization)*
select : SELECT (DISTINCT | ALL)? named_expression#
named_expression : expression (AS? (identifier | columns))?
where : WHERE expression
having : HAVING expression
qualify : QUALIFY expression

grouping : GROUP BY (group_item# | expression# group_sets)
named_grouping : GROUP BY (group_item# | named_expression# group_sets?)
group_sets : WITH ROLLUP | WITH CUBE | GROUPING SETS '(' grouping_set# ')'
group_item : group_analytics | expression
group_analytics :
    (ROLLUP | CUBE) '(' grouping_set# ')'
    | GROUPING SETS '(' (group_analytics | grouping_set)# ')'
grouping_set : '(' expression#? ')' | expression

from : FROM relation# lateral_view* pivot? unpivot?
relation : LATERAL? relation_primary (join | pivot | unpivot | bin_by)*
relation_primary :
    reference state? table_options? sample? watermark? alias
    | '(' query ')' sample? watermark? alias
    | '(' relation ')' sample? watermark? alias
    | inline_table
    | UNNEST '(' expression# ')' (WITH ORDINALITY)? alias
    | json_table
    | table_function (IDENTIFIED BY identifier)? watermark? alias
    | STREAM multipart (CHANGES (FROM state_point)?)? table_options? (IDENTIFIED BY identifier)? watermark?
        alias
    | STREAM '(' (multipart | table_function) ')' table_options? (IDENTIFIED BY identifier)? watermark? alias
    | STREAM table_function (IDENTIFIED BY identifier)? watermark? alias
reference : <frame> | IDENTIFIER '(' expression ')' | multipart
state :
    '@' <integer>
    | '@' <identifier> string?
    | FOR? (SYSTEM_VERSION | VERSION) AS OF version
    | FOR? (SYSTEM_TIME | TIMESTAMP) AS OF value
    | CHANGES FROM state_point (TO state_point)?
state_point :
    (SYSTEM_VERSION | VERSION) version (INCLUSIVE | EXCLUSIVE)?
    | (SYSTEM_TIME | TIMESTAMP) value (INCLUSIVE | EXCLUSIVE)?
version : <integer> | string
alias : (AS? (<alias> | IDENTIFIER '(' string ')') columns?)?
table_options : WITH '(' property# ')'
property : (property_key | string) ('=' | '==') property_value | (property_key | one_string) property_value?
property_key : identifier ('.' identifier)*
property_value : <integer> | <decimal> | TRUE | FALSE | string
inline_table : VALUES expression# alias
watermark : WATERMARK named_expression DELAY OF interval
sample : TABLESAMPLE (SYSTEM | BERNOULLI)? '(' sample_size ')' (REPEATABLE '(' integer ')')?
sample_size :
    '-'? (integer | <decimal>) PERCENT
    | expression ROWS?
    | BUCKET integer OUT OF integer (ON (identifier | qualified '(' ')'))?

join :
    join_type JOIN LATERAL? relation_primary join_criteria?
    | NATURAL join_type JOIN LATERAL? relation_primary
    | (INNER | LEFT OUTER?)? ASOF JOIN relation_primary MATCH_CONDITION '(' expression ')' (ON expression |
        USING columns)?
join_type : (INNER | CROSS | LEFT OUTER? | LEFT? SEMI | RIGHT OUTER? | FULL OUTER? | LEFT? ANTI)?
join_criteria :
    ON expression
    | USING columns
    | (APPROX | EXACT) NEAREST <integer>? BY (DISTANCE | SIMILARITY) expression

lateral_view : LATERAL VIEW OUTER? qualified '(' expression#? ')' identifier (AS? identifier#)?
pivot : PIVOT '(' named_expression# FOR (identifier | columns) IN '(' pivot_value# ')' ')' (AS? identifier)?
pivot_value : expression (AS? identifier)?
unpivot : UNPIVOT ((INCLUDE | EXCLUDE) NULLS)? '(' (unpivot_one | unpivot_many) ')' (AS? identifier)?
unpivot_one : identifier FOR identifier IN '(' (multipart (AS? identifier)?)# ')'
unpivot_many : '(' identifier# ')' FOR identifier IN '(' ('(' multipart# ')' (AS? identifier)?)# ')'
bin_by :
    BIN BY '(' RANGE multipart TO multipart BIN WIDTH expression (ALIGN TO expression)? DISTRIBUTE UNIFORM
        '(' multipart# ')' (BIN_START AS identifier)? (BIN_END AS identifier)? (BIN_DISTRIBUTE_RATIO AS
        identifier)? ')' (AS? identifier)?
json_table :
    JSON_TABLE '(' expression ',' string COLUMNS '(' json_column# ')' ((NULL | ERROR) ON ERROR)? ')' alias
json_column : identifier (FOR ORDINALITY | type EXISTS? (PATH string)?)

table_function : function_name '(' table_argument#? ')'
table_argument : (identifier '=>')? TABLE (reference | '(' (reference | query) ')') partitioning? | argument
partitioning :
    (WITH SINGLE PARTITION | (PARTITION | DISTRIBUTE) BY ('(' expression# ')' | expression)) ((ORDER | SORT)
        BY ('(' sort_item# ')' | sort_item))?

transform :
    (SELECT TRANSFORM '(' (DISTINCT | ALL)? expression# ')' | (MAP | REDUCE) (DISTINCT | ALL)? expression#)
        row_format? (RECORDWRITER string)? USING string (AS (identifier# | column_type# | '(' (identifier# |
        column_type#) ')'))? row_format? (RECORDREADER string)?
row_format :
    ROW FORMAT SERDE string (WITH SERDEPROPERTIES '(' property# ')')?
    | ROW FORMAT DELIMITED (FIELDS TERMINATED BY string (ESCAPED BY string)?)? (COLLECTION ITEMS TERMINATED BY
        string)? (MAP KEYS TERMINATED BY string)? (LINES TERMINATED BY string)? (NULL DEFINED AS string)?

pipe :
    select grouping? windows?
    | EXTEND named_expression#
    | SET assignment#
    | DROP multipart#
    | AS identifier
    | where
    | pivot
    | unpivot
    | bin_by
    | sample
    | join
    | set_operator query_primary
    | organization
    | AGGREGATE named_expression#? named_grouping?
assignment : identifier ('=' | '==') expression

windows : WINDOW (identifier AS window)#
window :
    identifier
    | '(' identifier ')'
    | '(' (CLUSTER BY expression# | ((PARTITION | DISTRIBUTE) BY expression#)? ((ORDER | SORT) BY
        sort_item#)?) frame? ')'
frame : (RANGE | ROWS) (frame_bound | BETWEEN frame_bound AND frame_bound)
frame_bound : UNBOUNDED (PRECEDING | FOLLOWING) | CURRENT ROW | expression (PRECEDING | FOLLOWING)
"""
