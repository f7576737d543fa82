import { NON_ROOT } from './base-layer.ts';

/** One program that becomes an image. */
export interface AppImage {
  /** Module the bundle starts from, in the repository. */
  readonly entry: string;
  /** User of the process, by number: a pod's `runAsNonRoot` check needs it so. */
  readonly user: string;
  readonly description: string;
  /** Whether the page of the console is in it. */
  readonly hasPage?: boolean;
  /** Its pod runs redis-server, too; default false. */
  readonly hasRedis?: boolean;
}

/** The programs, by the name of their folder and image. */
export const appImages = {
  hub: {
    entry: 'apps/hub/src/main.ts',
    user: NON_ROOT,
    description: 'Flotilla hub: carries out ClusterGroupUpgrades, as leader or worker',
    hasRedis: true,
  },
  'spoke-agent': {
    entry: 'apps/spoke-agent/src/main.ts',
    user: NON_ROOT,
    description: 'Flotilla spoke agent: executes actions, views and works on a spoke',
  },
  'upgrade-operator': {
    entry: 'apps/upgrade-operator/src/main.ts',
    user: NON_ROOT,
    description: 'Flotilla upgrade operator: carries out managed upgrades of its cluster',
  },
  'version-operator': {
    entry: 'apps/version-operator/src/main.ts',
    user: NON_ROOT,
    description: 'Flotilla version operator: applies release payloads to its cluster',
  },
  console: {
    entry: 'apps/cli/src/main.ts',
    user: NON_ROOT,
    description: 'Flotilla console: the command line, which serves the console in a cluster',
    hasPage: true,
  },
  // Root: the socket of containerd and of CRI-O, which it pulls through, is root's with mode 0660.
  'image-puller': {
    entry: 'apps/image-puller/src/main.ts',
    user: '0:0',
    description: 'Flotilla image puller: fills the image store of its node',
  },
} as const satisfies Record<string, AppImage>;

/** Name of a program that becomes an image. */
export type AppName = keyof typeof appImages;

/** All of them. */
export const appNames: readonly AppName[] = ['console', 'hub', 'image-puller', 'spoke-agent', 'upgrade-operator', 'version-operator'];

/** Optional peers of our dependencies that no program of ours uses; a bundle must not fail for want of them. */
export const EXTERNALS = ['redis', '@valkey/valkey-glide', 'bullmq-otel', 'pino-pretty', 'pg'];
