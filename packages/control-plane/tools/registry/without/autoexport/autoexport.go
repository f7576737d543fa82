// Package autoexport exports nothing.
package autoexport

import (
	"context"

	"go.opentelemetry.io/otel/sdk/trace"
)

type none struct{}

func (none) ExportSpans(context.Context, []trace.ReadOnlySpan) error { return nil }
func (none) Shutdown(context.Context) error                          { return nil }

// NewSpanExporter returns an exporter that drops everything.
func NewSpanExporter(context.Context) (trace.SpanExporter, error) { return none{}, nil }
