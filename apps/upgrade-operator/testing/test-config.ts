import type { OperatorConfig } from '../src/operator-config/schema.ts';

/** A configuration with which nothing takes long; minutes. */
export const testConfig: OperatorConfig = {
  upgradeType: 'OSD',
  configManager: { watchInterval: 60 },
  validation: { cincinnati: false },
  environment: { fedramp: false },
  maintenance: { controlPlaneTime: 90, ignoredAlerts: { controlPlaneCriticals: ['ClusterOperatorDown'] } },
  scale: { timeOut: 30, extraMachinePools: [] },
  upgradeWindow: { delayTrigger: 30, timeOut: 120 },
  nodeDrain: { timeOut: 45, expectedNodeDrainTime: 8, disableDrainStrategies: false, ignoredNamespacePatterns: [] },
  healthCheck: { ignoredCriticals: [], ignoredNamespaces: [] },
  extDependencyAvailabilityChecks: { http: { timeout: 10, urls: [] } },
  cacheProof: { required: false, maxAge: 60 },
  featureGate: { enabled: [] },
};
