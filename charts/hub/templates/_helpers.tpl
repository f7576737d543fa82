{{- /* Name of every object of the release; the release's name alone where it says hub already. */ -}}
{{- define "hub.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "hub.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "hub.labels" -}}
{{ include "hub.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: flotilla
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- /* Not a superset of the hub's: neither its Deployment nor its Service may select workers. */ -}}
{{- define "hub.workerSelectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-worker
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "hub.workerLabels" -}}
{{ include "hub.workerSelectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: flotilla
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "hub.consoleSelectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-console
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "hub.consoleLabels" -}}
{{ include "hub.consoleSelectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: flotilla
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- /* A rule without ports would open all of them. */}}
{{- define "hub.apiServerPorts" -}}
{{- if not .Values.networkPolicy.apiServerPorts }}
{{- fail "networkPolicy.apiServerPorts is empty: give the ports of the API server, such as [443, 6443]" }}
{{- end }}
{{- .Values.networkPolicy.apiServerPorts | toJson }}
{{- end -}}

{{- define "hub.workerServiceAccountName" -}}
{{ .Values.workers.serviceAccountName | default (printf "%s-worker" (include "hub.fullname" .)) }}
{{- end -}}

{{- define "hub.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default (include "hub.fullname" .) }}
{{- end -}}

{{- /* Repository of an image: its own, or that of imageRegistry. Takes a list: root, the image's values, their name, our image's name. */ -}}
{{- define "hub.repository" -}}
{{- $values := (index . 0).Values -}}
{{- if (index . 1).repository -}}
{{ (index . 1).repository }}
{{- else if $values.imageRegistry -}}
{{ trimSuffix "/" $values.imageRegistry }}/{{ index . 3 }}
{{- else -}}
{{- fail (printf "imageRegistry is not set and has no default: put the images on a registry (flotilla mirror, or npm run images -- --push) and pass --set imageRegistry=registry.example.com/flotilla, or %s.repository for this image alone" (index . 2)) }}
{{- /* helm lint goes on after a failure: its next complaint would be about YAML. */ -}}
unset
{{- end -}}
{{- end -}}

{{- /* repository@digest or repository:tag. Takes the list of hub.repository. */ -}}
{{- define "hub.image" -}}
{{- $image := index . 1 -}}
{{- $repository := include "hub.repository" . -}}
{{- if $image.digest -}}
{{ $repository }}@{{ $image.digest }}
{{- else -}}
{{ $repository }}:{{ $image.tag | default (index . 0).Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- /* The finalizer of work agents. */ -}}
{{- define "hub.workFinalizer" -}}
cluster.open-cluster-management.io/manifest-work-cleanup
{{- end -}}

{{- /* True where the cluster has ValidatingAdmissionPolicies. Without them nothing limits our own agents: that has to be wanted. */ -}}
{{- define "hub.admits" -}}
{{- $old := semverCompare "<1.30.0-0" .Capabilities.KubeVersion.Version -}}
{{- $missing := and (.Capabilities.APIVersions.Has "apps/v1/Deployment") (not (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy")) -}}
{{- if not (or $old $missing) -}}
true
{{- else if and .Values.agents.writes.limit (or .Values.standalone .Values.agents.clusters) (not .Values.agents.writes.allowUnlimited) -}}
{{- fail (printf "Kubernetes %s of this cluster has no ValidatingAdmissionPolicy (1.30 and later), so nothing would limit what agents write to the hub: upgrade the cluster, or set agents.writes.allowUnlimited to trust whoever holds an agent's kubeconfig with the works of its cluster; with an old helm pass --kube-version" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- end -}}
