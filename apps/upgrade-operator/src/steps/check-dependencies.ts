import { done, type Step } from './step.ts';

/** Begins nothing while what the upgrade needs from outside does not answer. */
export const checkDependencies: Step = {
  name: 'check-dependencies',
  endsWithCommencement: true,
  async run({ config, ports, signal }) {
    const { http } = config.extDependencyAvailabilityChecks;
    if (http.urls.length > 0) await ports.dependencies.check(http, signal);
    return done;
  },
};
