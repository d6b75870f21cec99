import { describe, expect, it } from '@jest/globals';
import { configurationFixture, oneModel } from '../../../test/support/configuration.js';

const { faults, load, warnings, write } = configurationFixture();

describe('a configuration', () => {
  const entry = '  - model_name: chat\n    litellm_params: {model: hosted_vllm/oss, api_base: "https://up/v1"}\n';

  it.each([
    ['general_settings: {master_key: k}\n', 'config.yaml: there is no model_list: add it with the models to serve'],
    ['model_list: []\n', 'config.yaml:1: model_list: has no entry: there is no model to serve'],
    ['x: 1\nmodel_list:\n', 'config.yaml:2: model_list: has no entry: there is no model to serve'],
    [
      `model_lits:\n${entry}`,
      'config.yaml:1: model_lits: is ignored, and there is no model_list: rename it to model_list',
    ],
    [`models:\n${entry}`, 'config.yaml:1: models: is ignored, and there is no model_list: rename it to model_list'],
    [
      `litellm_settings:\n  model_list:\n${entry.replaceAll(/^/gm, '  ')}`,
      'config.yaml:2: litellm_settings.model_list: is ignored, and there is no model_list: move it to the top level of the file',
    ],
  ])('is rejected without models; the fault names a key that was probably meant as model_list: %j', (text, fault) => {
    expect(faults(text)).toEqual([fault]);
  });

  it('is rejected if the misspelled key is in an included file', () => {
    write('more.yaml', `model_lits:\n${entry}`);
    expect(faults('include: more.yaml\n')).toEqual([
      'more.yaml:1: model_lits: is ignored, and there is no model_list: rename it to model_list',
    ]);
  });

  it('is accepted if only an included file has models', () => {
    write('more.yaml', oneModel());
    expect(load('include: more.yaml\n').proxy.deployments).toHaveLength(1);
  });

  it('is accepted with a warning if none of its models can be served', () => {
    expect(warnings('model_list:\n  - {model_name: a, litellm_params: {model: humanloop/titan}}\n')).toContain(
      'config.yaml: no entry of model_list can be served: /health/readiness answers 503',
    );
  });
});
