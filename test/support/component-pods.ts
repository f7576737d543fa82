import { randomBytes } from 'node:crypto';
import { KubeObject, resource } from '@flotilla/api';
import { Namespace, Pod } from '@flotilla/api/core';
import { type Client, WatchCache } from '@flotilla/runtime';
import { z } from 'zod';

/** An image to start. */
export interface ComponentImage {
  readonly name: string;
  /** `host/repository@sha256:…` */
  readonly pullSpec: string;
}

/** The outcome of a start: component images that came up on a spoke. */
export interface Started {
  readonly up: number;
  readonly total: number;
  /** Seconds from the first create to the last image up, or to giving up. */
  readonly seconds: number;
  /** Reasons of those that did not come up, by name. */
  readonly failures: Readonly<Record<string, string>>;
}

const State = z.looseObject({ waiting: z.looseObject({ reason: z.string().optional(), message: z.string().optional() }).optional() });
const PodStatus = z.looseObject({
  conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]),
  containerStatuses: z.array(z.looseObject({ state: State.optional() })).default([]),
});
const PodSchema = KubeObject.extend({ status: PodStatus.optional() });
type ObservedPod = z.output<typeof PodSchema>;
const ObservedPod = resource('v1', 'Pod', 'pods', true, PodSchema);

/** Limits of a start. */
interface StartOptions {
  readonly withinMs: number;
  readonly signal: AbortSignal;
  /** Node to start them on; default: where the scheduler wants. */
  readonly node?: string | undefined;
}

/**
 * Starts one pod per image on a cluster and waits until all are Ready, or the time is over. Each call has a namespace of its
 * own, which is deleted at the end. Nothing else runs in the pods: no token, no probe, the image's own program.
 */
export async function startComponentPods(client: Client, images: readonly ComponentImage[], options: StartOptions): Promise<Started> {
  const namespace = `components-${randomBytes(3).toString('hex')}`;
  await client.create(Namespace, { metadata: { name: namespace } });
  const stop = new AbortController();
  const pods = new WatchCache(client, ObservedPod, { namespace });
  try {
    pods.start(AbortSignal.any([stop.signal, options.signal]));
    const start = performance.now();
    const allUp = Promise.withResolvers<void>();
    const ups = () => pods.list().filter(isUp).length;
    pods.subscribe(() => {
      if (ups() === images.length) allUp.resolve();
    });
    const timer = setTimeout(() => allUp.resolve(), options.withinMs);
    for (const image of images) await client.create(Pod, podOf(image, namespace, options.node));
    await allUp.promise;
    clearTimeout(timer);
    const seconds = (performance.now() - start) / 1000;
    const failures = Object.fromEntries(pods.list().flatMap((pod) => (isUp(pod) ? [] : [[pod.metadata.name, whyWaiting(pod)]])));
    return { up: ups(), total: images.length, seconds, failures };
  } finally {
    stop.abort();
    await client.delete(Namespace, { name: namespace }, { propagationPolicy: 'Background' });
  }
}

const podOf = ({ name, pullSpec }: ComponentImage, namespace: string, node: string | undefined): KubeObject => ({
  metadata: { name, namespace },
  spec: {
    automountServiceAccountToken: false,
    ...(node !== undefined && { nodeName: node }),
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'component', image: pullSpec, imagePullPolicy: 'IfNotPresent' }],
  },
});

const isUp = (pod: ObservedPod): boolean =>
  pod.status?.conditions.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;

function whyWaiting(pod: ObservedPod): string {
  const waiting = pod.status?.containerStatuses[0]?.state?.waiting;
  return waiting?.message ?? waiting?.reason ?? 'not started';
}
