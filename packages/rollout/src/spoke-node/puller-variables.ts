/** Variables that the hub gives the puller. The spoke's admission policy admits no others; SECURITY.md lists their values. */
export const PULLER_VARIABLES = [
  'BANDWIDTH',
  'CONFIG_VOLUME_PATH',
  'CRI_SOCKET',
  'FOLLOW',
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'IMAGE_GC_HIGH_THRESHOLD_PERCENT',
  'JOB_SECONDS',
  'KUBELET_CONFIG_PATH',
  'MODE',
  'NODES',
  'NODE_OPTIONS',
  'NO_PROXY',
  'PIN_BY',
  'PIN_FOR',
  'PROGRESS_SECONDS',
  'PULL_SECRET_PATH',
  'RECORD_DIR',
  'REGISTRIES_CONF_DIR',
  'REGISTRY_CA',
  'REGISTRY_CERTS_DIRS',
  'REGISTRY_CONFIG',
  'RETRY_FOR_SECONDS',
  'STORE_PATH',
] as const;

/** Name of a puller variable. */
export type PullerVariable = (typeof PULLER_VARIABLES)[number];

/** Values by name; an empty one removes the default. */
export type PullerVariables = Readonly<Partial<Record<PullerVariable, string>>>;
