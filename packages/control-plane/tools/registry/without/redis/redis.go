// Package redis has what the registry's sources name of the client of Redis. Nothing configures a Redis, so nothing of it is called.
package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"time"
)

// Nil is the answer for a key that is not there.
var Nil = errors.New("redis: nil")

// UniversalOptions are those that the registry copies.
type UniversalOptions struct {
	Addrs                                                         []string
	ClientName, Username, Password                                string
	SentinelUsername, SentinelPassword                            string
	MasterName, IdentitySuffix                                    string
	DB, Protocol, MaxRetries, MaxRedirects                        int
	PoolSize, MinIdleConns, MaxIdleConns, MaxActiveConns          int
	MinRetryBackoff, MaxRetryBackoff                              time.Duration
	DialTimeout, ReadTimeout, WriteTimeout, PoolTimeout           time.Duration
	ConnMaxIdleTime, ConnMaxLifetime                              time.Duration
	ContextTimeoutEnabled, PoolFIFO, ReadOnly                     bool
	RouteByLatency, RouteRandomly, DisableIdentity, UnstableResp3 bool
	TLSConfig                                                     *tls.Config
	OnConnect                                                     func(context.Context, *Conn) error
}

// Cmd is an answer of one type.
type Cmd[T any] struct{}

// Result panics: without a Redis there is no answer.
func (*Cmd[T]) Result() (T, error) { panic("this registry is built without Redis") }

// Err panics as Result does.
func (*Cmd[T]) Err() error { panic("this registry is built without Redis") }

// Conn is a connection.
type Conn struct{}

// Ping asks for a sign of life.
func (*Conn) Ping(context.Context) *Cmd[string] { return &Cmd[string]{} }

// PoolStats counts connections.
type PoolStats struct{ TotalConns, IdleConns uint32 }

// Pipeliner collects commands.
type Pipeliner interface {
	SRem(context.Context, string, ...any) *Cmd[int64]
	Del(context.Context, ...string) *Cmd[int64]
	HDel(context.Context, string, ...string) *Cmd[int64]
	Exec(context.Context) ([]any, error)
}

// UniversalClient has the commands that the registry sends.
type UniversalClient interface {
	HDel(context.Context, string, ...string) *Cmd[int64]
	HGet(context.Context, string, string) *Cmd[string]
	HMGet(context.Context, string, ...string) *Cmd[[]any]
	HMSet(context.Context, string, ...any) *Cmd[bool]
	HSet(context.Context, string, ...any) *Cmd[int64]
	HSetNX(context.Context, string, string, any) *Cmd[bool]
	SAdd(context.Context, string, ...any) *Cmd[int64]
	SIsMember(context.Context, string, any) *Cmd[bool]
	TxPipeline() Pipeliner
	PoolStats() *PoolStats
}

// NewUniversalClient panics: who configures a Redis learns of it at the start.
func NewUniversalClient(*UniversalOptions) UniversalClient {
	panic("this registry is built without Redis")
}
