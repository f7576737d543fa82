import { REFERENCE_OPERATOR, VERSION_NAMESPACE } from '@flotilla/api/config';
import { type Json, objectAt } from '../json-values.ts';

/** Label of a Deployment that runs this operator and not the reference's. */
const OURS = 'flotilla.io/version-operator';

/** True for the Deployment of the reference operator, which a payload brings along. */
export function isStanding(deployment: Json): boolean {
  const { namespace, name, labels } = objectAt(deployment.metadata);
  return namespace === VERSION_NAMESPACE && name === REFERENCE_OPERATOR && objectAt(labels)[OURS] !== 'true';
}

/** The Deployment with nothing running: two operators would undo each other's work. */
export const parked = (deployment: Json): Json => ({ ...deployment, spec: { ...objectAt(deployment.spec), replicas: 0 } });
