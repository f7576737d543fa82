import type { Matcher, Silence } from '../clients/alertmanager.ts';

/** Default matchers of an upgrade's silences, which differ by their comments (spec/muo 7.2). */
export const DEFAULT_MATCHERS: readonly Matcher[] = [
  { name: 'severity', value: '(warning|info)', isRegex: true },
  { name: 'namespace', value: '(^openshift.*|^kube.*|^redhat.*|^default$)', isRegex: true },
];

/** These alerts, of any severity and namespace. */
export const criticalMatchers = (alerts: readonly string[]): readonly Matcher[] => [
  { name: 'alertname', value: `(${alerts.join('|')})`, isRegex: true },
];

/** Comments of silences. */
export const comments = {
  controlPlane: (version: string) => `Silence for OSD control plane upgrade to version ${version}`,
  criticals: (version: string) => `Silence for critical alerts during OSD control plane upgrade to version ${version}`,
  workers: (version: string, remaining: number) => `${comments.workersOf(version)}${remaining} nodes`,
  /** Prefix that the comments of all counts share. */
  workersOf: (version: string) => `Silence for OSD worker node upgrade to version ${version} with remaining `,
} as const;

/** Version of the silence of a control plane's window; undefined for any other. */
export const controlPlaneVersion = ({ comment }: Pick<Silence, 'comment'>): string | undefined =>
  /^Silence for OSD control plane upgrade to version ([\w.+-]{1,128})$/.exec(comment)?.[1];

/** A silence of the control plane's window, whatever its version. */
export const isControlPlane = ({ comment }: Pick<Silence, 'comment'>): boolean => comment.includes('OSD control plane');
/** A silence of the workers' window, whatever its version. */
export const isWorkers = ({ comment }: Pick<Silence, 'comment'>): boolean => comment.includes('OSD worker node');
