import { FlotillaError, KubeObject, resource } from '@flotilla/api';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import type { ComponentImage } from './component-pods.ts';
import { applyExamples, type ExampleValues, SPOKE_EXAMPLE } from './examples.ts';
import type { Site } from './fleet.ts';

/** Namespace of the Deployments of `examples/rollout`. */
export const WORKLOADS = 'edge-apps';
/** The Deployments, in the order of the template. */
const APPS = ['gateway', 'store', 'console', 'metrics'] as const;

const Counts = z.looseObject({
  observedGeneration: z.number().default(0),
  replicas: z.number().default(0),
  updatedReplicas: z.number().default(0),
  availableReplicas: z.number().default(0),
});
const DeploymentSchema = KubeObject.extend({
  spec: z.looseObject({
    replicas: z.number().default(1),
    template: z.looseObject({ spec: z.looseObject({ containers: z.array(z.looseObject({ image: z.string().default('') })) }) }),
  }),
  status: Counts.default(Counts.parse({})),
});
type Workload = z.output<typeof DeploymentSchema>;
const Workload = resource('apps/v1', 'Deployment', 'deployments', true, DeploymentSchema);

/** All Deployments of a spoke at one moment. */
export interface WorkloadState {
  /** Every Deployment runs what it should in every replica, and nothing else. */
  readonly isAvailable: boolean;
  /** Images by Deployment, as specified. */
  readonly images: Readonly<Record<string, string>>;
}

/** Which image goes where. Throws when there are fewer images than Deployments. */
export function workloadImages(images: readonly ComponentImage[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    APPS.map((app, index) => {
      const image = images[index];
      if (!image) throw new FlotillaError('FLOTILLA_DEMO_EXAMPLE', `there are ${images.length} images for ${APPS.length} Deployments`);
      return [app, image.pullSpec];
    }),
  );
}

/** The placeholders of `examples/rollout` for these images. */
export const imagePlaceholders = (images: Readonly<Record<string, string>>): ExampleValues =>
  Object.fromEntries(Object.entries(images).map(([app, image]) => [`${app.toUpperCase()}_IMAGE`, image]));

/** Starts what runs on a spoke before the rollout and waits until it is available. Throws CommandError after `timeoutSeconds`. */
export async function startWorkloads(spoke: Site, images: Readonly<Record<string, string>>, timeoutSeconds = 150): Promise<void> {
  await applyExamples(spoke, [SPOKE_EXAMPLE], imagePlaceholders(images));
  const args = ['-n', WORKLOADS, 'wait', 'deployments', '--all', '--for=condition=Available', `--timeout=${timeoutSeconds}s`];
  await spoke.kubectl(args, { timeoutMs: (timeoutSeconds + 10) * 1000 });
}

/** Changes the images by hand, all at once: what the rollout does, without a hub. */
export async function replaceImages(spoke: Site, images: Readonly<Record<string, string>>): Promise<void> {
  await Promise.all(
    Object.entries(images).map(([app, image]) => spoke.kubectl(['-n', WORKLOADS, 'set', 'image', `deployment/${app}`, `app=${image}`])),
  );
}

/** How the Deployments of a spoke are now. */
export async function readWorkloads(client: Client): Promise<WorkloadState> {
  const { items } = await client.list(Workload, { namespace: WORKLOADS });
  return {
    isAvailable: items.length === APPS.length && items.every(isAvailable),
    images: Object.fromEntries(items.map(({ metadata, spec }) => [metadata.name, spec.template.spec.containers[0]?.image ?? ''])),
  };
}

function isAvailable({ metadata, spec, status }: Workload): boolean {
  const { replicas, updatedReplicas, availableReplicas, observedGeneration } = status;
  const isSeen = observedGeneration >= (metadata.generation ?? 0);
  return isSeen && [replicas, updatedReplicas, availableReplicas].every((count) => count === spec.replicas);
}
