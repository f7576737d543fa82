{{- /*
Variables of a container, ours before those of a value. Takes a dictionary: own (ours, as text), extra (the value), field (its name). The last of two
of one name would count, and server-side apply refuses them.
*/ -}}
{{- define "spoke.env" -}}
{{- $names := list -}}
{{- range fromYamlArray .own }}{{ $names = append $names .name }}{{ end -}}
{{- range .extra }}
{{- if has .name $names }}{{ fail (printf "%s names %s, which the chart sets already: take it out, or set the value that it is made from" $.field .name) }}{{ end }}
{{- $names = append $names .name }}
{{- end }}
{{- .own }}
{{- with .extra }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* Labels of a pod besides the chart's, which its Service and Deployment find it by. */ -}}
{{- define "spoke.podLabels" -}}
{{- $own := fromYaml (include "spoke.labels" .) }}
{{- range $key, $value := .Values.podLabels }}
{{- if hasKey $own $key }}{{ fail (printf "podLabels names %s, which is the chart's own: take it out" $key) }}{{ end }}
{{- end }}
{{- toYaml .Values.podLabels }}
{{- end -}}

{{- define "spoke.agentEnv" -}}
- name: CLUSTER_NAME
  value: {{ required "clusterName is required: the name of this cluster on the hub" .Values.clusterName | quote }}
- name: HUB_KUBECONFIG
  value: /etc/flotilla/hub/kubeconfig
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: REGISTRATION
  value: {{ .Values.registration | quote }}
- name: WORKS
  value: {{ .Values.works.enabled | quote }}
{{- if .Values.works.enabled }}
- name: WORKS_AS
  value: {{ printf "%s/%s" .Release.Namespace (include "spoke.worksAccountName" .) | quote }}
{{- end }}
{{- if .Values.rbac.create }}
- name: PULLER_ROLE
  value: {{ include "spoke.pullerRoleName" . | quote }}
{{- end }}
{{- if .Values.hub.renewToken }}
- name: HUB_KUBECONFIG_SECRET
  value: {{ printf "%s/%s/%s" .Release.Namespace .Values.hub.kubeconfigSecret .Values.hub.kubeconfigKey | quote }}
{{- end }}
- name: LOG_LEVEL
  value: {{ .Values.logLevel }}
{{- end -}}

{{- /* ConfigMap with authorities that the upgrade operator trusts; empty: none. */ -}}
{{- define "spoke.trustedCa" -}}
{{- $trusted := .Values.upgradeOperator.trustedCa -}}
{{- $trusted.configMap | default (ternary (printf "%s-trusted-ca" (include "spoke.upgradeOperatorName" .)) "" $trusted.inject) -}}
{{- end -}}

{{- define "spoke.upgradeOperatorEnv" -}}
{{- $operator := .Values.upgradeOperator -}}
{{- $trusted := include "spoke.trustedCa" . -}}
- name: OPERATOR_NAMESPACE
  value: {{ $operator.namespace | quote }}
- name: LOG_LEVEL
  value: {{ .Values.logLevel }}
{{- with $operator.clusterOperator }}
- name: CLUSTER_OPERATOR
  value: {{ . | quote }}
- name: RELEASE_VERSION
  value: {{ $.Chart.AppVersion | quote }}
{{- end }}
{{- if $trusted }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/flotilla/trusted-ca/ca-bundle.crt
{{- end }}
{{- with $operator.proxy.http }}
- name: HTTP_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with $operator.proxy.https }}
- name: HTTPS_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with $operator.proxy.except }}
- name: NO_PROXY
  value: {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "spoke.versionOperatorEnv" -}}
{{- $operator := .Values.versionOperator -}}
- name: RELEASE_IMAGE
  value: {{ required "versionOperator.release is needed: the pull spec of the release that the cluster has or shall have, by digest" $operator.release | quote }}
- name: CACHE_FOLDER
  value: /var/cache/flotilla
- name: CLUSTER_PROFILE
  value: {{ $operator.profile | quote }}
- name: METRICS_TOKEN_FILE
  value: /var/run/secrets/flotilla/monitoring/token
- name: OBSERVE
  value: {{ $operator.observe | quote }}
- name: HEALTH_PORT
  value: "8081"
- name: METRICS_PORT
  value: "9099"
- name: LOG_LEVEL
  value: {{ .Values.logLevel }}
{{- if $operator.metrics.servingSecret }}
- name: SERVING_CERT_FILE
  value: /etc/flotilla/serving/tls.crt
- name: SERVING_KEY_FILE
  value: /etc/flotilla/serving/tls.key
- name: METRICS_CLIENT
  value: {{ $operator.metrics.client | quote }}
{{- end }}
{{- if $operator.registry.pullSecret }}
- name: PULL_SECRET
  value: /etc/flotilla/pull-secret/.dockerconfigjson
{{- end }}
{{- if $operator.registry.caConfigMap }}
- name: REGISTRY_CA
  value: /etc/flotilla/registry-ca/ca-bundle.crt
{{- end }}
{{- if $operator.registry.mirrorsConfigMap }}
- name: REGISTRIES_CONF
  value: /etc/flotilla/registry-mirrors/registries.conf
{{- end }}
{{- with $operator.registry.insecure }}
- name: INSECURE_REGISTRIES
  value: {{ join "," . | quote }}
{{- end }}
{{- with $operator.proxy.http }}
- name: HTTP_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with $operator.proxy.https }}
- name: HTTPS_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with $operator.proxy.except }}
- name: NO_PROXY
  value: {{ . | quote }}
{{- end }}
{{- end -}}
