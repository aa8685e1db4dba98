-- Flights as people ask for them: minutes of delay as numbers, a day, a carrier; what never left is no flight.
CREATE MATERIALIZED VIEW clean_flights (
  CONSTRAINT departed EXPECT (departure_delay IS NOT NULL) ON VIOLATION DROP ROW,
  CONSTRAINT plausible EXPECT (distance BETWEEN 1 AND 20000) ON VIOLATION FAIL UPDATE
)
KEY (id)
AS SELECT id, day, upper(carrier) AS carrier, origin, destination, departure_delay, distance FROM raw_flights;
