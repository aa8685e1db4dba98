CREATE MATERIALIZED VIEW daily_delays (CONSTRAINT counted EXPECT (flights > 0) ON VIOLATION FAIL UPDATE)
KEY (day, carrier) INCREMENTAL BY day
AS SELECT day, carrier, count(*) AS flights, sum(departure_delay) AS minutes_late, max(departure_delay) AS worst
FROM clean_flights GROUP BY day, carrier;
