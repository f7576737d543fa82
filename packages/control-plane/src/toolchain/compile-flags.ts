/** Go packages whose functions a program calls seldom: generated clients, loops of controllers and nodes, commands, exporters. */
const SELDOM_CALLED = [
  'k8s.io/kubernetes/...',
  'k8s.io/client-go/applyconfigurations/...',
  'k8s.io/client-go/informers/...',
  'k8s.io/client-go/kubernetes/...',
  'k8s.io/client-go/listers/...',
  'k8s.io/cloud-provider/...',
  'k8s.io/dynamic-resource-allocation/...',
  'k8s.io/kube-aggregator/...',
  'k8s.io/kubectl/...',
  'k8s.io/pod-security-admission/...',
  'sigs.k8s.io/kustomize/...',
  'github.com/google/cadvisor/...',
  'github.com/google/gnostic-models/...',
  'github.com/redis/...',
  'github.com/tetratelabs/...',
  'github.com/vishvananda/...',
  'go.opentelemetry.io/...',
  'helm.sh/...',
  'oras.land/...',
];

/** Nobody steps through these programs: without what a debugger reads they compile in nine tenths of the CPU, and link in half. */
const WITHOUT_DEBUGGER = '-dwarf=false';

/**
 * Flags of `go build` by which a build from nothing costs less. A package that is compiled without inlining takes three quarters of the CPU; the hot
 * ones (serializers, storage, requests) keep it. Everything that is built has the same flags, so that what is shared is compiled once; with `-trimpath`
 * helm would compile the libraries of Kubernetes again, because its module file asks for another version than it then replaces.
 */
export const COMPILE_FLAGS: readonly string[] = [
  `-gcflags=all=${WITHOUT_DEBUGGER}`,
  ...SELDOM_CALLED.map((packages) => `-gcflags=${packages}=${WITHOUT_DEBUGGER} -l`),
];

/** The compiler collects its garbage only when its heap is large: a fifth of its CPU. */
export const COMPILE_ENVIRONMENT = { GOGC: 'off', GOMEMLIMIT: '1GiB' };
