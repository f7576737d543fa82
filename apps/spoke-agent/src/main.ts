import { createClient, type Program, runProgram } from '@flotilla/runtime';
import { startAgent } from './agent.ts';
import { type AgentConfig, readConfig } from './config.ts';
import { keepToken } from './registration/token.ts';

/** Wires and runs the agent until it is stopped. It is ready once it watches the hub. */
async function main(program: Program<AgentConfig>): Promise<void> {
  const { config, logger, metrics, clock, signal } = program;
  const {
    clusterName,
    registration,
    works,
    workEvictionGraceMs,
    worksAs,
    pullerRole,
    hubKubeconfig,
    hubKubeconfigSecret: secret,
    spokeKubeconfig,
  } = config;
  const connect = (kubeconfigPath: string | undefined, actAs?: string) => {
    const client = createClient({ kubeconfigPath, userAgent: 'flotilla-spoke-agent', actAs, logger, metrics });
    program.defer(() => client.close());
    return client;
  };
  const [hub, spoke] = [connect(hubKubeconfig), connect(spokeKubeconfig)];
  const workSpoke = worksAs ? connect(spokeKubeconfig, worksAs) : spoke;
  const agent = startAgent(
    { hub, spoke, workSpoke, clusterName, pullerRole, registration, works, workEvictionGraceMs, logger, metrics, clock },
    signal,
  );
  program.ready(() => (agent.isReady() ? undefined : 'the hub is not watched yet'));
  logger.info({ cluster: clusterName, hub: hub.server, spoke: spoke.server, healthPort: program.port }, 'Watching the hub');
  const token = secret && keepToken({ hub, spoke, clusterName, kubeconfigPath: hubKubeconfig, secret, clock, logger }, signal);
  await Promise.all([agent.stopped, token]);
}

await runProgram({
  name: 'spoke-agent',
  config: () => readConfig(),
  listen: ({ healthPort }) => ({ port: healthPort }),
  stopWithinMs: 10_000,
  main,
});
