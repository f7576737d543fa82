import { ApiError, type Client } from '@flotilla/runtime';
import { z } from 'zod';

/** Expressions of a kind, as a Flux Kustomization has them. */
export const HealthCheck = z.object({ apiVersion: z.string(), kind: z.string(), failed: z.string(), current: z.string() });
type HealthCheck = z.output<typeof HealthCheck>;

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const [FAILED, CURRENT] = ['Flux says Failed', 'Flux says Current'] as const;

/** Flux evaluates on the fields of the object, an admission policy on `object`. */
const onObject = (expression: string): string => expression.replaceAll(/(?<![.\w])(metadata|spec|status)\./g, 'object.$1.');

/** Has the API server evaluate the expressions at each dry run of a status of the kind: it refuses with the verdict. */
export async function serveHealthCheck(client: Client, { apiVersion, failed, current }: HealthCheck, plural: string): Promise<void> {
  const [group, version] = apiVersion.split('/');
  const metadata = { name: `health.${plural}` };
  const spec = {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [{ apiGroups: [group], apiVersions: [version], operations: ['UPDATE'], resources: [`${plural}/status`] }],
    },
    // Programs of the test write statuses too.
    matchConditions: [{ name: 'dry-run', expression: 'request.dryRun' }],
    validations: [
      { expression: `!(${onObject(failed)})`, message: FAILED },
      { expression: `!(${onObject(current)})`, message: CURRENT },
    ],
  };
  const binding = { policyName: metadata.name, validationActions: ['Deny'] };
  const api = { apiVersion: 'admissionregistration.k8s.io/v1', metadata };
  await client.request('POST', `${ADMISSION}/validatingadmissionpolicies`, { body: { ...api, kind: 'ValidatingAdmissionPolicy', spec } });
  const bound = { ...api, kind: 'ValidatingAdmissionPolicyBinding', spec: binding };
  await client.request('POST', `${ADMISSION}/validatingadmissionpolicybindings`, { body: bound });
}

const Generations = z.looseObject({
  metadata: z.looseObject({ generation: z.number().optional() }),
  status: z.looseObject({ observedGeneration: z.number().optional() }).optional(),
});

/** The verdict of Flux on the object at the path: behind in its generation is in progress, and so is neither failed nor current. */
export async function fluxHealth(client: Client, path: string, object: unknown): Promise<'Failed' | 'Current' | 'InProgress'> {
  const { metadata, status } = Generations.parse(object);
  if (status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation) return 'InProgress';
  try {
    const options = { body: { status }, contentType: 'application/merge-patch+json' };
    await client.request('PATCH', `${path}/status?dryRun=All`, options);
    return 'InProgress';
  } catch (error) {
    if (error instanceof ApiError && error.message.includes(FAILED)) return 'Failed';
    if (error instanceof ApiError && error.message.includes(CURRENT)) return 'Current';
    throw error;
  }
}
