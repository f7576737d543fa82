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

{{- define "hub.workerServiceAccountName" -}}
{{ .Values.workers.serviceAccountName | default (printf "%s-worker" (include "hub.fullname" .)) }}
{{- end -}}

{{- define "hub.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default (include "hub.fullname" .) }}
{{- end -}}

{{- /* repository@digest or repository:tag. Takes a list of the image's values, the default tag, and names of the values and of our image. */ -}}
{{- define "hub.image" -}}
{{- $image := index . 0 -}}
{{- if not $image.repository -}}
{{- $value := printf "%s.repository" (index . 2) -}}
{{- fail (printf "%s is not set and has no default: push the images (npm run images -- --push registry.example.com/flotilla) and pass --set %s=registry.example.com/flotilla/%s" $value $value (index . 3)) -}}
{{- end -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default (index . 1) }}
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
