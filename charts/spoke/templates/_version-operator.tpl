{{- /* Name of the version operator's objects. */ -}}
{{- define "spoke.versionOperatorName" -}}
{{ printf "%s-version-operator" (include "spoke.fullname" . | trunc 46 | trimSuffix "-") }}
{{- end -}}

{{- /* Not a superset of the agent's: its Deployment may not select the operator. */ -}}
{{- define "spoke.versionOperatorSelectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-version-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "spoke.versionOperatorLabels" -}}
{{ include "spoke.versionOperatorSelectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: flotilla
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}
