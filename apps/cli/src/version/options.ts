import { z } from 'zod';
import { accessBy } from '../hub/options.ts';

/** Options of `flotilla version`. */
export const VersionOptions = z.object(accessBy('kubeconfig of a hub or spoke'));
