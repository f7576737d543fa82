import { CustomResourceDefinition, findCondition, transportCrds } from '@flotilla/api';
import type { Client } from '@flotilla/runtime';
import { expect, vi } from 'vitest';
import { z } from 'zod';

const Established = z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]) });

/** Installs the transport's CRDs and waits until they are served. */
export async function installTransport(hub: Client): Promise<void> {
  for (const crd of transportCrds()) await hub.apply(CustomResourceDefinition, crd, { fieldManager: 'conformance' });
  for (const { metadata } of transportCrds()) {
    await vi.waitFor(
      async () => {
        const crd = await hub.get(CustomResourceDefinition, metadata);
        expect(findCondition(Established.parse(crd?.status).conditions, 'Established')?.status).toBe('True');
      },
      { timeout: 15_000, interval: 50 },
    );
  }
}
