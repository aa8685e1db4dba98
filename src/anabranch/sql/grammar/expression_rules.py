"""Spark's rules for expressions and types; `query_rules.py` explains the notation."""

EXPRESSION_RULES = """
expression : negation* predicated ((AND | OR) negation* predicated)*
negation : NOT | '!'
predicated : EXISTS '(' query ')' | value predicate?
predicate :
    NOT? BETWEEN value AND value
    | NOT? IN '(' (expression# | query) ')'
    | NOT? (RLIKE | REGEXP) value
    | NOT? (LIKE | ILIKE) (value (ESCAPE string)? | (ANY | SOME | ALL) '(' expression# ')')
    | IS NOT? (NULL | TRUE | FALSE | UNKNOWN | DISTINCT FROM value)
value : ('-' | '+' | '~')* primary (operator ('-' | '+' | '~')* primary)*
operator :
    '*' | '/' | '%' | DIV | '+' | '-' | '||' | '<<' | '>>' | '>>>' | '&' | '^' | '|'
    | '=' | '==' | '<=>' | '<>' | '!=' | '<' | '<=' | '>' | '>=' | '!' '<' | '!' '>'
primary : single (COLLATE multipart | '::' type | ':' json_step json_steps* | '[' value ']' | '.' identifier)*
json_step : identifier | '[' (string | integer) ']'
json_steps : '.' identifier | '[' (string | integer | identifier) ']'
single : constant | star | call | identifier | cast | case | written_call | bracketed | lambda
constant :
    NULL | '?' | <hex> | <integer> | <decimal> | <number> | string | interval
    | (DATE | TIME | TIMESTAMP | TIMESTAMP_LTZ | TIMESTAMP_NTZ | INTERVAL) <string>
star : (qualified '.')? '*' (EXCEPT '(' multipart# ')')?
bracketed : '(' (expression | named_expression ',' named_expression# | query) ')'
lambda : (identifier | '(' identifier ',' identifier# ')') '->' expression
cast : (CAST | TRY_CAST) '(' expression AS type ')'
case : CASE expression? (WHEN expression THEN expression)+ (ELSE expression)? END

call :
    function_name '(' ((DISTINCT | ALL)? argument#)? ')' (WITHIN GROUP '(' ORDER BY sort_item# ')')? (FILTER
        '(' WHERE expression ')')? ((IGNORE | RESPECT) NULLS)? (OVER window)?
function_name : IDENTIFIER ('(' expression ')')? | qualified | FILTER | LEFT | RIGHT
argument : (identifier '=>')? expression
written_call :
    STRUCT '(' named_expression#? ')'
    | (FIRST | LAST | ANY_VALUE) '(' expression IGNORE NULLS ')'
    | POSITION '(' value IN value ')'
    | EXTRACT '(' <identifier> FROM value ')'
    | (SUBSTR | SUBSTRING) '(' value FROM value ((FOR | ',') value)? ')'
    | (SUBSTR | SUBSTRING) '(' value ',' value FOR value ')'
    | TRIM '(' (BOTH | LEADING | TRAILING)? value? FROM value ')'
    | OVERLAY '(' value PLACING value FROM value (FOR value)? ')'

interval : INTERVAL ((interval_value unit)+ | interval_value unit TO unit)
interval_value : ('+' | '-')? (<integer> | <decimal> | string)
unit :
    NANOSECOND | NANOSECONDS | MICROSECOND | MICROSECONDS | MILLISECOND | MILLISECONDS | SECOND | SECONDS
    | MINUTE | MINUTES | HOUR | HOURS | DAY | DAYS | WEEK | WEEKS | MONTH | MONTHS | YEAR | YEARS

multipart : identifier ('.' identifier)*
qualified : identifier ('.' identifier)*
identifier : <identifier> | IDENTIFIER '(' string ')'
integer : <integer> | marker
string : one_string+
one_string : <string> | marker
marker : <parameter> | ':' <identifier> | '?'

type :
    ARRAY '<' type '>'
    | MAP '<' type ',' type '>'
    | STRUCT ('<' (identifier ':'? column_rest)#? '>' | '<>')
    | STRING (COLLATE multipart)?
    | (CHARACTER | CHAR | VARCHAR) '(' integer ')' (COLLATE multipart)?
    | (DECIMAL | DEC | NUMERIC) ('(' integer (',' integer)? ')')?
    | INTERVAL ((YEAR | MONTH) (TO MONTH)? | (DAY | HOUR | MINUTE | SECOND) (TO (HOUR | MINUTE | SECOND))?)?
    | TIMESTAMP ('(' integer ')')? (WITH LOCAL TIME ZONE | WITHOUT TIME ZONE)?
    | (TIMESTAMP_LTZ | TIMESTAMP_NTZ) ('(' integer ')')?
    | TIME ('(' integer ')')? (WITHOUT TIME ZONE)?
    | (GEOGRAPHY | GEOMETRY) '(' (integer | ANY) ')'
    | BOOLEAN | TINYINT | BYTE | SMALLINT | SHORT | INT | INTEGER | BIGINT | LONG | FLOAT | REAL | DOUBLE
    | DATE | BINARY | VOID | VARIANT
column_type : identifier column_rest
column_rest : type (NOT NULL)? (COMMENT string)?
"""
