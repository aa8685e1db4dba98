"""Jobs: a function run over shards of its inputs on Spark's executors, its output published once or not at all."""
