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

{{- /* ClusterRole of the puller, which the agent binds to the account that it makes. */ -}}
{{- define "spoke.pullerRoleName" -}}
{{ printf "%s-puller" (include "spoke.fullname" . | trunc 56 | trimSuffix "-") }}
{{- end -}}

{{- /* ClusterRole of the pullers of the other nodes, which the agent binds likewise: the agent knows it by this suffix. */ -}}
{{- define "spoke.nodePullerRoleName" -}}
{{ include "spoke.pullerRoleName" . }}-node
{{- end -}}

{{- /* Repository of an image: its own, or that of imageRegistry. Takes a list: root, the image's values, their name, our image's name. */ -}}
{{- define "spoke.repository" -}}
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

{{- /* repository@digest or repository:tag. Takes the list of spoke.repository. */ -}}
{{- define "spoke.image" -}}
{{- $image := index . 1 -}}
{{- $repository := include "spoke.repository" . -}}
{{- if $image.digest -}}
{{ $repository }}@{{ $image.digest }}
{{- else -}}
{{ $repository }}:{{ $image.tag | default (index . 0).Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- /* "true" where the cluster has SecurityContextConstraints, which give pods their user and group; else nothing. */ -}}
{{- define "spoke.hasSccs" -}}
{{- if .Capabilities.APIVersions.Has "security.openshift.io/v1" }}true{{ end -}}
{{- end -}}

{{- /*
"true" where a ValidatingAdmissionPolicy confines the agent; fails where it should and the cluster has none. What a cluster serves is only known
in an installation: a plain `helm template` goes by the version.
*/ -}}
{{- define "spoke.confined" -}}
{{- if and .Values.agent.enabled .Values.confinement.enabled -}}
{{- $old := semverCompare "<1.30.0-0" .Capabilities.KubeVersion.Version -}}
{{- $missing := and (.Capabilities.APIVersions.Has "apps/v1/Deployment") (not (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy")) -}}
{{- if not (or $old $missing) -}}
true
{{- else if not .Values.confinement.allowUnconfined -}}
{{- fail (printf "Kubernetes %s of this cluster has no ValidatingAdmissionPolicy (1.30 and later), so nothing would confine the agent: upgrade the cluster, or set confinement.allowUnconfined to trust whoever may write to the hub with the nodes; with an old helm pass --kube-version" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* A list of strings in CEL. */ -}}
{{- define "spoke.celList" -}}
{{ . | toJson | replace "\"" "'" }}
{{- end -}}

{{- /* Fields of the Job that the hub makes, with those that the API server adds. */ -}}
{{- define "spoke.jobFields" -}}
{{ list "activeDeadlineSeconds" "backoffLimit" "completionMode" "completions" "manualSelector" "parallelism" "podFailurePolicy" "podReplacementPolicy" "selector" "suspend" "template" | toJson }}
{{- end -}}
{{- define "spoke.nodesFields" -}}
{{ list "minReadySeconds" "revisionHistoryLimit" "selector" "template" "updateStrategy" | toJson }}
{{- end -}}
{{- define "spoke.podFields" -}}
{{ list "containers" "dnsPolicy" "nodeSelector" "priorityClassName" "restartPolicy" "schedulerName" "securityContext" "serviceAccount" "serviceAccountName" "terminationGracePeriodSeconds" "tolerations" "volumes" | toJson }}
{{- end -}}
{{- define "spoke.containerFields" -}}
{{ list "env" "image" "imagePullPolicy" "name" "resources" "securityContext" "terminationMessagePath" "terminationMessagePolicy" "volumeMounts" | toJson }}
{{- end -}}

{{- /* Annotations of its pod, each with its value, as a list in CEL. */ -}}
{{- define "spoke.jobAnnotations" -}}
[['target.workload.openshift.io/management', '{"effect":"PreferredDuringScheduling"}'], ['openshift.io/required-scc', 'privileged']]
{{- end -}}

{{- /* Its volumes with paths of the node. */ -}}
{{- define "spoke.jobVolumes" -}}
{{ list "ca-bundle-path" "kubelet-config-path" "pull-secret-path" "record" "registries-conf-dir" "registry-certs-dir" "runtime-socket" "runtime-storage" | toJson }}
{{- end -}}

{{- /* A path without `.` and `..`, as a regular expression. */ -}}
{{- define "spoke.pathShape" -}}
(/\.?[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]*)+
{{- end -}}

{{- /* The puller's variables, each with the shape of its value, as a map in CEL. */ -}}
{{- define "spoke.jobVariables" -}}
{{- $path := printf "/host%s" (include "spoke.pathShape" .) -}}
{{- $authority := printf "(/etc/config/registry-ca\\.pem|%s)" $path -}}
{{- $shapes := dict
  "CONFIG_VOLUME_PATH" "/etc/config"
  "NODE_OPTIONS" "--max-old-space-size=[0-9]{1,5}"
  "CRI_SOCKET" (printf "%s(,%s)*" $path $path)
  "STORE_PATH" $path
  "PULL_SECRET_PATH" $path
  "REGISTRIES_CONF_DIR" $path
  "REGISTRY_CERTS_DIRS" (printf "%s(:%s)*" $path $path)
  "REGISTRY_CA" (printf "%s(:%s)*" $authority $authority)
  "KUBELET_CONFIG_PATH" $path
  "REGISTRY_CONFIG" "(?s)\\[.*\\]"
  "HTTP_PROXY" "https?://\\S+"
  "HTTPS_PROXY" "https?://\\S+"
  "NO_PROXY" "[A-Za-z0-9_.:/*,\\[\\]-]+"
  "IMAGE_GC_HIGH_THRESHOLD_PERCENT" "([1-9][0-9]?|100)"
  "RETRY_FOR_SECONDS" "[0-9]{1,6}"
  "PROGRESS_SECONDS" "[0-9]{1,6}"
  "BANDWIDTH" "[0-9]{1,13}"
  "MODE" "inspect|prove|unpin"
  "PIN_BY" "pinned-image-set"
  "JOB_SECONDS" "[0-9]{1,9}"
  "PIN_FOR" "[0-9a-f]([0-9a-f-]{0,61}[0-9a-f])?"
  "RECORD_DIR" "/host/var/lib/flotilla/precache"
  "NODES" "\\{.*\\}"
  "FOLLOW" "on"
-}}
{{- $entries := list -}}
{{- range $name, $shape := $shapes -}}{{- $entries = append $entries (printf "'%s': r'^%s$'" $name $shape) -}}{{- end -}}
{{ printf "{%s}" (join ", " $entries) }}
{{- end -}}

{{- /* Paths that the reference's Job mounts besides. */ -}}
{{- define "spoke.talmPaths" -}}
{{ list "/etc/resolv.conf" "/lib64" "/proc" "/usr/bin" "/usr/lib" "/usr/lib64" "/usr/libexec" "/usr/share/containers" "/var/lib/cni" "/var/lib/kubelet" "/sys/fs/cgroup" "/tmp" "/var/tmp" | toJson }}
{{- end -}}

{{- /* Name of the agent among the users of the cluster, and of the account of works where pre-caching comes by them. */ -}}
{{- define "spoke.confinedUsers" -}}
{{- $account := printf "system:serviceaccount:%s:%%s" .Release.Namespace -}}
{{- $users := list (printf $account (include "spoke.serviceAccountName" .)) -}}
{{- if and .Values.works.enabled .Values.works.precache -}}
{{- $users = append $users (printf $account (include "spoke.worksAccountName" .)) -}}
{{- end -}}
{{ $users | toJson }}
{{- end -}}

{{- /* Where works may write besides what confines the agent, as a condition in CEL: where rules of their own hold; nothing where there are none. */ -}}
{{- define "spoke.worksPlaces" -}}
{{- with .Values.works -}}
{{- if or .clusterRules (and .rules (not .namespaces)) -}}
true
{{- else if .rules -}}
variables.target in {{ include "spoke.celList" .namespaces }}
{{- end -}}
{{- end -}}
{{- end -}}
