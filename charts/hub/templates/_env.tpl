{{- /*
Variables of a container, ours before those of a value. Takes a dictionary: own (ours, as text), extra (the value), field (its name). The last of two
of one name would count, and server-side apply refuses them.
*/ -}}
{{- define "hub.env" -}}
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

{{- /* Labels of an object besides the chart's, none of which they may take: `chart` is the root, `labels` the value and `field` its path. */ -}}
{{- define "hub.moreLabels" -}}
{{- $own := fromYaml (include "hub.labels" .chart) }}
{{- range $key, $value := .labels }}
{{- if hasKey $own $key }}{{ fail (printf "%s names %s, which is the chart's own: take it out" $.field $key) }}{{ end }}
{{- end }}
{{- toYaml .labels }}
{{- end -}}

{{- /* Not empty when a redis-server of the hub's pod holds the queue. */ -}}
{{- define "hub.ownRedis" -}}
{{- $given := or .Values.redis.url .Values.redis.existingSecret -}}
{{- range .Values.extraEnv }}{{ if eq .name "REDIS_URL" }}{{ $given = .name }}{{ end }}{{ end -}}
{{- if and .Values.redis.container.enabled (not $given) (lt (int .Values.replicas) 2) }}unix:///run/flotilla/redis.sock{{ end -}}
{{- end -}}

{{- define "hub.podEnv" -}}
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: PRECACHE_IMAGE
  value: {{ include "hub.image" (list . .Values.precacheImage "precacheImage" "image-puller") | quote }}
- name: PRECACHE_JOB_PROFILE
  value: {{ .Values.precacheJobProfile }}
- name: TRANSPORT
  value: {{ .Values.transport }}
- name: TALM_STRICT
  value: {{ .Values.talmStrict | quote }}
- name: TENANCY
  value: {{ .Values.tenancy | quote }}
- name: STANDALONE
  value: {{ .Values.standalone | quote }}
- name: AUTO_UPGRADES
  value: {{ .Values.autoUpgrades | quote }}
{{- with .Values.backupImage }}
- name: BACKUP_IMAGE
  value: {{ . | quote }}
{{- end }}
{{- with .Values.updateGraphUrl }}
- name: UPDATE_GRAPH_URL
  value: {{ . | quote }}
{{- end }}
{{- with .Values.updateGraphAllow }}
- name: UPDATE_GRAPH_ALLOW
  value: {{ join "," . | quote }}
{{- end }}
{{- with .Values.precacheRegistryConfig }}
- name: PRECACHE_REGISTRY_CONFIG
  value: {{ . | quote }}
{{- end }}
{{- with .Values.precacheImageAllow }}
- name: PRECACHE_IMAGE_ALLOW
  value: {{ join "," . | quote }}
{{- end }}
{{- with .Values.precacheProxy.http }}
- name: PRECACHE_HTTP_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with .Values.precacheProxy.https }}
- name: PRECACHE_HTTPS_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with .Values.precacheProxy.except }}
- name: PRECACHE_NO_PROXY
  value: {{ . | quote }}
{{- end }}
{{- if .Values.precacheCaBundle.configMap }}
- name: PRECACHE_CA_BUNDLE
  value: /etc/flotilla/ca/ca-bundle.pem
{{- end }}
{{- with .Values.precacheRetrySeconds }}
- name: PRECACHE_RETRY_SECONDS
  value: {{ . | quote }}
{{- end }}
{{- if .Values.redis.existingSecret }}
- name: REDIS_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.redis.existingSecret }}
      key: {{ .Values.redis.secretKey }}
{{- else if .Values.redis.url }}
- name: REDIS_URL
  value: {{ .Values.redis.url | quote }}
{{- if and .Values.redis.ca.configMap (hasPrefix "redis://" .Values.redis.url) }}
{{- fail (printf "redis.url is %q: has no TLS, for which redis.ca names authorities: write rediss://, or leave redis.ca.configMap empty" (regexReplaceAll "//[^/@]*@" .Values.redis.url "//***@")) }}
{{- end }}
{{- end }}
{{- with include "hub.ownRedis" . }}
- name: REDIS_URL
  value: {{ . }}
{{- end }}
{{- if .Values.redis.ca.configMap }}
- name: REDIS_CA
  value: /etc/flotilla/redis-ca/ca.pem
{{- end }}
- name: LOG_LEVEL
  value: {{ .Values.logLevel }}
{{- end -}}
