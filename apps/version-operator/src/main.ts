import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { CLUSTER_VERSION_NAME, VERSION_NAMESPACE } from '@flotilla/api/config';
import { PayloadPath, parseReleaseMetadata } from '@flotilla/release';
import { readPayloadFolder } from '@flotilla/release/folder';
import { digestOfPullSpec } from '@flotilla/release/signatures';
import { createClient, type Program, runProgram } from '@flotilla/runtime';
import { prepareToLead, signOfReferenceOperator } from './before-leading.ts';
import { degradedBlocks, type OperatorConfig, readConfig } from './config.ts';
import { ScraperAuthorities } from './metrics/version-metrics.ts';
import { keepRunning, type VersionOperatorOptions } from './operator.ts';
import { type GivenRelease, imageOfVersion } from './payload/first-release.ts';
import { openRegistries, type ReleaseImages, releaseImages } from './payload/release-image.ts';
import { registrySource } from './payload/release-source.ts';
import { architectureOf } from './payload/release-taker.ts';
import { drawInterval } from './updates/cluster-updates.ts';

/** Known once a client is there, which the metrics are served before. */
const scrapers = new ScraperAuthorities();

/** Wires the operator and runs it while it leads, or without a lease where it only observes. */
async function main(program: Program<OperatorConfig>): Promise<void> {
  const { config, logger, metrics, clock, signal } = program;
  const client = createClient({ kubeconfigPath: config.kubeconfig, userAgent: 'flotilla-version-operator', logger, metrics });
  program.defer(() => client.close());
  if (config.servingCertFile !== undefined) scrapers.follow(client, { logger, metrics, clock }, signal);
  const registries = await openRegistries(config);
  program.defer(() => registries.close());
  const { cacheFolder } = config;
  const images = releaseImages({ client: registries, cacheFolder, logger });
  const options: VersionOperatorOptions = {
    client,
    given: await givenRelease(config, images),
    reopen: (image, until) => images.read(image, until, pinned(image)),
    source: (surroundings) => registrySource({ client, images, isKeeping: !config.observe, clock, logger, ...surroundings }),
    isPrefetching: cacheFolder !== undefined && !config.observe,
    profile: config.clusterProfile,
    excludeIdentifier: config.excludeManifests,
    alwaysEnabled: config.alwaysEnableCapabilities,
    degradedBlocks: (version) => degradedBlocks(config.degraded, version),
    passEveryMs: config.passMinutes * 60_000,
    updates: {
      service: config.updateService,
      machine: architectureOf(process.arch),
      timeoutMs: config.updateTimeoutSeconds * 1_000,
      everyMs: drawInterval(),
      monitoringUrl: config.metricsUrl,
      monitoringTokenFile: config.metricsTokenFile || undefined,
      monitoringCaFile: config.metricsCaBundleFile || undefined,
    },
    instance: hostname(),
    logger,
    metrics,
    clock,
  };
  program.ready();
  if (config.observe) {
    const sign = await signOfReferenceOperator(client, clock);
    logger.info({ server: client.server, referenceOperator: sign ?? 'not there' }, 'Observing, nothing is written');
    await keepRunning({ ...options, updates: undefined, observe: (write) => logger.info(write, 'Would write') }, signal);
    return;
  }
  await prepareToLead(client, clock);
  // the reference operator's own lease: at most one of both leads
  await program.lead({ client, ref: { namespace: VERSION_NAMESPACE, name: CLUSTER_VERSION_NAME } }, async (leading) => {
    logger.info({ server: client.server }, 'Leading');
    await keepRunning(options, leading);
  });
}

const pinned = (image: string): ReadonlySet<string> => new Set([digestOfPullSpec(image)]);

async function givenRelease({ payload, image = '' }: OperatorConfig, images: ReleaseImages): Promise<GivenRelease> {
  if (payload === undefined) return { image: () => image, read: (signal) => images.read(image, signal, pinned(image)), isFolder: false };
  const metadata = await readFile(join(payload, PayloadPath.metadata)).catch(() => undefined);
  const version = metadata ? parseReleaseMetadata(metadata).release.version : '';
  return {
    image: (clusterVersion) => image || imageOfVersion(version, clusterVersion),
    read: () => readPayloadFolder(payload),
    isFolder: true,
  };
}

await runProgram({
  name: 'version-operator',
  config: () => readConfig(),
  listen: ({ healthPort, metricsPort, servingCertFile: certFile, servingKeyFile: keyFile, metricsClient }) => ({
    port: healthPort,
    metricsPort,
    ...(certFile !== undefined &&
      keyFile !== undefined && { protectedMetrics: { certFile, keyFile, clientAuthorities: () => scrapers.pem, client: metricsClient } }),
  }),
  main,
});
