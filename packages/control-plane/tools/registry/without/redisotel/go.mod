// In place of the metrics of a Redis client: see redis beside it.
module github.com/redis/go-redis/extra/redisotel/v9

go 1.26.0

require github.com/redis/go-redis/v9 v9.7.3
