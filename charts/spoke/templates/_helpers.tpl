{{- /* Name of every object of the release; the release's name alone where it holds the chart's. */ -}}
{{- define "spoke.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "spoke.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "spoke.labels" -}}
{{ include "spoke.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: flotilla
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "spoke.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default (include "spoke.fullname" .) }}
{{- end -}}

{{- /* ServiceAccount as which the agent applies works. */ -}}
{{- define "spoke.worksAccountName" -}}
{{ printf "%s-works" (include "spoke.fullname" . | trunc 57 | trimSuffix "-") }}
{{- end -}}

{{- /* repository@digest or repository:tag. Takes a list of the image's values and the default tag. */ -}}
{{- define "spoke.image" -}}
{{- $image := index . 0 -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default (index . 1) }}
{{- end -}}
{{- end -}}

{{- /* "true" where the cluster has SecurityContextConstraints, which give pods their user and group; else nothing. */ -}}
{{- define "spoke.hasSccs" -}}
{{- if .Capabilities.APIVersions.Has "security.openshift.io/v1" }}true{{ end -}}
{{- end -}}
