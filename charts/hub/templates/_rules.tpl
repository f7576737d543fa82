{{- /* What the steps of an upgrade need, in whichever process they run. */ -}}
{{- define "hub.stepRules" -}}
- apiGroups: [ran.openshift.io]
  resources: [clustergroupupgrades]
  verbs: [get, list, watch]
# Which clusters there are; steps write labels and annotations that an upgrade asks for.
- apiGroups: [cluster.open-cluster-management.io]
  resources: [managedclusters]
  verbs: [get, list, watch, patch]
# All that is done on spokes goes through these, in the namespaces of the clusters.
- apiGroups: [action.open-cluster-management.io]
  resources: [managedclusteractions]
  verbs: [get, list, watch, create, update, patch, delete, deletecollection]
- apiGroups: [view.open-cluster-management.io]
  resources: [managedclusterviews]
  verbs: [get, list, watch, create, update, patch, delete, deletecollection]
- apiGroups: [work.open-cluster-management.io]
  resources: [manifestworks]
  verbs: [get, list, watch, create, patch, delete, deletecollection]
- apiGroups: [work.open-cluster-management.io]
  resources: [manifestworkreplicasets]
  verbs: [get, list, watch]
# Which clusters a policy is enforced on.
- apiGroups: [cluster.open-cluster-management.io]
  resources: [placements]
  verbs: [get, list, watch, create, update, patch, delete, deletecollection]
- apiGroups: [policy.open-cluster-management.io]
  resources: [placementbindings]
  verbs: [get, list, watch, create, update, patch, delete, deletecollection]
{{- end -}}

{{- /* What letting spokes in needs (value standalone). */ -}}
{{- define "hub.standaloneRules" -}}
# Clusters get conditions, a namespace and an account for their agent.
- apiGroups: [cluster.open-cluster-management.io]
  resources: [managedclusters/status]
  verbs: [get, update, patch]
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get, list, watch, create, patch]
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [serviceaccounts]
  resourceNames: [spoke-agent]
  verbs: [get, create, patch, delete]
# Roles of agents, by their one name. The names of ClusterRoles end in that of the cluster, which no rule can say: there the hub may
# write and delete any, but RBAC itself forbids it to grant what it does not have. For that it needs neither escalate nor bind:
# those would let it make itself an administrator.
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [list, watch]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  resourceNames: ["flotilla:spoke-agent"]
  verbs: [get, create, patch, delete]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [clusterroles, clusterrolebindings]
  verbs: [get, list, watch, create, patch, delete]
# Signs of life: read by the hub, and written by agents.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [managed-cluster-lease]
  verbs: [get, list, watch, update, patch]
# From here on: held only because agents are granted it, and nobody may grant what he does not have. The same list is in
# apps/hub/src/registration/access.ts.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [action.open-cluster-management.io]
  resources: [managedclusteractions/status]
  verbs: [update, patch]
- apiGroups: [view.open-cluster-management.io]
  resources: [managedclusterviews/status]
  verbs: [update, patch]
- apiGroups: [work.open-cluster-management.io]
  resources: [manifestworks/finalizers]
  verbs: [update]
- apiGroups: [work.open-cluster-management.io]
  resources: [manifestworks/status]
  verbs: [update, patch]
- apiGroups: [""]
  resources: [serviceaccounts/token]
  resourceNames: [spoke-agent]
  verbs: [create]
{{- end -}}
