/** What is behind the ports when the operator runs. */
import { FlotillaError } from '@flotilla/api';
import { createChannel } from '@flotilla/runtime';
import type { PortsFactory } from './operator.ts';
import type { OperatorConfig, Ports, UpgradeMetrics } from './ports.ts';

/** The documented defaults (spec/muo 9.2), where the documents leave one out the reference's example. */
const DEFAULTS: OperatorConfig = {
  upgradeType: 'ARO',
  configManager: { watchInterval: 1 },
  validation: { cincinnati: false },
  environment: { fedramp: false },
  maintenance: { controlPlaneTime: 90, ignoredAlerts: { controlPlaneCriticals: [] } },
  scale: { timeOut: 30, extraMachinePools: [] },
  upgradeWindow: { delayTrigger: 30, timeOut: 120 },
  nodeDrain: { timeOut: 45, expectedNodeDrainTime: 8, disableDrainStrategies: false, ignoredNamespacePatterns: [] },
  healthCheck: { ignoredCriticals: [], ignoredNamespaces: [] },
  extDependencyAvailabilityChecks: { http: { timeout: 15, urls: [] } },
  featureGate: { enabled: [] },
};

const missing = async (): Promise<never> => {
  throw new FlotillaError('FLOTILLA_SERVICE_MISSING', 'the service that is asked for this is not connected: nothing is begun without it');
};

const noMetrics: UpgradeMetrics = {
  validationFailed: () => undefined,
  scalingFailed: () => undefined,
  windowBreached: () => undefined,
  controlPlaneTimeout: () => undefined,
  workerTimeout: () => undefined,
  drainTimeout: () => undefined,
  clearDrainTimeouts: () => undefined,
  notificationFailed: () => undefined,
  notificationSent: () => undefined,
  moment: () => undefined,
  result: () => undefined,
  resetAll: () => undefined,
  resetFailed: () => undefined,
};

/** Connects what there is: the defaults for a configuration, the log for notifications. What an upgrade must not begin without is missing. */
export const createPorts: PortsFactory = ({ logger }): Ports => ({
  config: { current: () => ({ config: DEFAULTS }), watch: createChannel() },
  notifier: {
    async notify({ state, entry }) {
      logger.info({ state, version: entry.version }, 'Notification');
    },
  },
  silences: { startControlPlane: missing, endControlPlane: missing, setWorkers: missing, endWorkers: missing, isActive: missing },
  health: { before: missing, after: missing },
  dependencies: { check: missing },
  provider: { refresh: async () => false },
  alerts: { paging: missing },
  metrics: noMetrics,
  releases: { versionOf: missing, updates: missing },
});
