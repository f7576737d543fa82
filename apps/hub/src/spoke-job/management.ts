/** Lets a pod run on the management cores of a partitioned node. */
export const MANAGEMENT_ANNOTATION = { 'target.workload.openshift.io/management': '{"effect":"PreferredDuringScheduling"}' };
