// In place of the client of Redis, a third of the registry's build: the registry here has no Redis.
module github.com/redis/go-redis/v9

go 1.26.0
