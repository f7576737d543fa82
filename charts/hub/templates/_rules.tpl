{{- /* What the steps of an upgrade need, in whichever process they run. */ -}}
{{- define "hub.stepRules" -}}
- apiGroups: [ran.openshift.io]
  resources: [clustergroupupgrades]
  verbs: [get, list, watch]
# Which image of the puller an upgrade wants.
- apiGroups: [ran.openshift.io]
  resources: [precachingconfigs]
  verbs: [list, watch]
# Which clusters there are; steps write labels and annotations that an upgrade asks for.
- apiGroups: [cluster.open-cluster-management.io]
  resources: [managedclusters]
  verbs: [list, watch, patch]
# All that is done on spokes goes through these, in the namespaces of the clusters. They are never edited, but made anew.
- apiGroups: [action.open-cluster-management.io]
  resources: [managedclusteractions]
  verbs: [get, list, watch, create, delete, deletecollection]
- apiGroups: [view.open-cluster-management.io]
  resources: [managedclusterviews]
  verbs: [get, list, watch, create, delete, deletecollection]
# patch: a work that the reference has begun is adopted.
- apiGroups: [work.open-cluster-management.io]
  resources: [manifestworks]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [work.open-cluster-management.io]
  resources: [manifestworkreplicasets]
  verbs: [list, watch]
{{- if .Values.tenancy }}
# Which clusters the upgrades of a namespace may reach, and by which labels that is decided.
- apiGroups: [cluster.open-cluster-management.io]
  resources: [managedclustersets, managedclustersetbindings]
  verbs: [list, watch]
{{- end }}
{{- end -}}

{{- /* What letting spokes in needs (value standalone). */ -}}
{{- define "hub.standaloneRules" -}}
# Clusters get conditions, a namespace and an account for their agent. What is to be there is applied: create where it is missing,
# patch where it differs.
- apiGroups: [cluster.open-cluster-management.io]
  resources: [managedclusters/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch, create, patch]
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [serviceaccounts]
  resourceNames: [spoke-agent]
  verbs: [create, patch, delete]
# Roles of agents, by their one name. The names of ClusterRoles end in that of the cluster, which no rule can say: there an
# admission policy (own-names.yaml) says it, and RBAC itself forbids the hub to grant what it does not have. For that it needs neither
# escalate nor bind: those would let it make itself an administrator.
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [list, watch]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  resourceNames: ["flotilla:spoke-agent"]
  verbs: [create, patch, delete]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [clusterroles, clusterrolebindings]
  verbs: [list, watch, create, patch, delete]
# Signs of life: each made once, empty, for its agent to renew, and removed with the agent's access.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [managed-cluster-lease]
  verbs: [list, watch, create, patch, delete]
# From here on: what agents are granted beyond the rules above. The same list is in apps/hub/src/registration/access.ts.
# Held because nobody may grant what he does not have.
- apiGroups: [cluster.open-cluster-management.io]
  resources: [managedclusters]
  verbs: [get]
# Held because nobody may grant what he does not have.
- apiGroups: [action.open-cluster-management.io]
  resources: [managedclusteractions/status]
  verbs: [update]
# Held because nobody may grant what he does not have.
- apiGroups: [view.open-cluster-management.io]
  resources: [managedclusterviews/status]
  verbs: [update]
# Held because nobody may grant what he does not have.
- apiGroups: [work.open-cluster-management.io]
  resources: [manifestworks/status]
  verbs: [patch]
# Held because nobody may grant what he does not have.
- apiGroups: [""]
  resources: [serviceaccounts/token]
  resourceNames: [spoke-agent]
  verbs: [create]
{{- end -}}
