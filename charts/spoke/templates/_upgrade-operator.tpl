{{- /* Name of the upgrade operator's objects. */ -}}
{{- define "spoke.upgradeOperatorName" -}}
{{ printf "%s-upgrade-operator" (include "spoke.fullname" . | trunc 46 | trimSuffix "-") }}
{{- end -}}

{{- /* Not a superset of the agent's: its Deployment may not select the operator. */ -}}
{{- define "spoke.upgradeOperatorSelectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-upgrade-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "spoke.upgradeOperatorLabels" -}}
{{ include "spoke.upgradeOperatorSelectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: flotilla
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- /* In its own namespace. */ -}}
{{- define "spoke.upgradeOperatorRules" -}}
- apiGroups: [upgrade.managed.openshift.io]
  resources: [upgradeconfigs]
  {{- if .Values.upgradeOperator.ocm }}
  # OCM's policies become an UpgradeConfig, and take it away.
  verbs: [get, list, watch, create, patch, delete]
  {{- else }}
  # Patched when the version of an image is known.
  verbs: [get, list, watch, patch]
  {{- end }}
- apiGroups: [upgrade.managed.openshift.io]
  resources: [upgradeconfigs/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [managed-upgrade-operator-config]
  verbs: [list, watch]
{{- if .Values.upgradeOperator.cacheProof }}
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [flotilla-cached-releases]
  verbs: [get]
{{- end }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [managed-upgrade-operator-lock]
  verbs: [get, update]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end -}}

{{- /* In openshift-monitoring: Prometheus and Alertmanager are asked as Prometheus itself is. */ -}}
{{- define "spoke.upgradeOperatorMonitoringRules" -}}
- apiGroups: [""]
  resources: [services]
  resourceNames: [prometheus-k8s, alertmanager-main]
  verbs: [get]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [serving-certs-ca-bundle]
  verbs: [get]
- apiGroups: [""]
  resources: [serviceaccounts/token]
  resourceNames: [prometheus-k8s]
  verbs: [create]
{{- end -}}

{{- /* In openshift-config: who this cluster is for OCM. */ -}}
{{- define "spoke.upgradeOperatorOcmRules" -}}
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [pull-secret]
  verbs: [get]
{{- end -}}

{{- /* In openshift-machine-api: workers for the time of an upgrade. */ -}}
{{- define "spoke.upgradeOperatorMachineRules" -}}
- apiGroups: [machine.openshift.io]
  resources: [machinesets]
  verbs: [create, delete]
{{- end -}}
