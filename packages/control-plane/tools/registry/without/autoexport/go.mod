// In place of the exporters of traces, metrics and logs, a third of the registry's build: OTEL_TRACES_EXPORTER=none as the only choice.
module go.opentelemetry.io/contrib/exporters/autoexport

go 1.26.0

require go.opentelemetry.io/otel/sdk v1.45.0
