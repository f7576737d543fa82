{{- /*
Pod template of the hub and of its workers, which are the same program. Takes a dictionary: root, role (hub or worker),
account (its ServiceAccount), resources.
*/ -}}
{{- define "hub.pod" -}}
{{- with .root }}
metadata:
  labels:
    {{- if eq $.role "worker" }}
    {{- include "hub.workerLabels" . | nindent 4 }}
    {{- else }}
    {{- include "hub.labels" . | nindent 4 }}
    {{- end }}
    {{- if .Values.podLabels }}
    {{- include "hub.moreLabels" (dict "chart" . "field" "podLabels" "labels" .Values.podLabels) | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ $.account }}
  automountServiceAccountToken: true
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  # Longer than the hub's own limit for handing over its work.
  terminationGracePeriodSeconds: 30
  securityContext:
    runAsNonRoot: true
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: {{ $.role }}
      {{- if eq $.role "worker" }}
      args: [--role, worker]
      {{- end }}
      image: {{ include "hub.image" (list . .Values.image "image" "hub") }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      env:
        {{- include "hub.env" (dict "own" (include "hub.podEnv" .) "extra" .Values.extraEnv "field" "extraEnv") | nindent 8 }}
      ports:
        - name: http
          containerPort: 8080
          protocol: TCP
      # A start takes a few seconds on a busy node.
      startupProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 2
        failureThreshold: 30
      livenessProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 15
        timeoutSeconds: 5
      readinessProbe:
        httpGet:
          path: /readyz
          port: http
        periodSeconds: 5
        timeoutSeconds: 5
      {{- with $.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        # Sockets and files of the moment.
        - name: scratch
          mountPath: /tmp
        {{- if include "hub.ownRedis" . }}
        - name: redis-socket
          mountPath: /run/flotilla
        {{- end }}
        {{- if .Values.precacheCaBundle.configMap }}
        - name: precache-ca
          mountPath: /etc/flotilla/ca
          readOnly: true
        {{- end }}
        {{- if .Values.redis.ca.configMap }}
        - name: redis-ca
          mountPath: /etc/flotilla/redis-ca
          readOnly: true
        {{- end }}
    {{- if include "hub.ownRedis" . }}
    # Holds work and never state: it keeps nothing when it ends, and refuses keys before it grows over its limit.
    - name: redis
      command: [/usr/bin/redis-server]
      args: [--port, "0", --unixsocket, /run/flotilla/redis.sock, --unixsocketperm, "700", --save, "", --maxmemory, 64mb, --loglevel, warning]
      image: {{ include "hub.image" (list . .Values.image "image" "hub") }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      {{- with .Values.redis.container.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: redis-socket
          mountPath: /run/flotilla
    {{- end }}
  volumes:
    - name: scratch
      emptyDir:
        sizeLimit: 1Gi
    {{- if include "hub.ownRedis" . }}
    - name: redis-socket
      emptyDir:
        sizeLimit: 1Mi
    {{- end }}
    {{- with .Values.precacheCaBundle }}
    {{- if .configMap }}
    - name: precache-ca
      configMap:
        name: {{ .configMap }}
        items:
          - key: {{ .key }}
            path: ca-bundle.pem
    {{- end }}
    {{- end }}
    {{- with .Values.redis.ca }}
    {{- if .configMap }}
    - name: redis-ca
      configMap:
        name: {{ .configMap }}
        items:
          - key: {{ .key }}
            path: ca.pem
    {{- end }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end -}}
