import { beforeAll, describe, expect, it } from '@jest/globals';
import { mkdirSync } from 'node:fs';
import { configurationFixture, oneModel } from '../../test/support/configuration.js';

const { at, faults, load, write } = configurationFixture();

beforeAll(() => {
  mkdirSync(at('models'));
  write(
    'models/vllm.yaml',
    'include: [../more.yaml, vllm.yaml]\nmodel_list:\n  - model_name: vllm\n    params: {model: hosted_vllm/v, api_base: "http://v/v1"}\n',
  );
  write(
    'more.yaml',
    'model_list:\n  - model_name: more\n    params: {model: hosted_vllm/m, api_base: "http://m/v1"}\nsettings: {drop_params: true, request_timeout: 9}\nenvironment_variables: {A: more, B: more}\n',
  );
  write('broken.yaml', 'model_list:\n  - model_name: x\n    params: {api_base: 5}\n');
  write('no.yaml', 'a: [');
});

describe('include', () => {
  it('adds the models and other settings of files, each once; paths are relative to the file that names them', () => {
    const config = load(
      oneModel(
        ['api_key: os.environ/A'],
        'include:\n  - models/vllm.yaml\n  - more.yaml\nlitellm_settings: {request_timeout: 5}\nenvironment_variables: {A: main}\n',
      ),
    );
    expect(config.proxy.deployments.map(({ modelName }) => modelName)).toEqual(['chat', 'vllm', 'more']);
    expect(config.watchedFiles).toEqual([at('config.yaml'), at('models/vllm.yaml'), at('more.yaml')]);
    const [chat] = config.proxy.deployments;
    // The settings of config.yaml override those of included files.
    expect([chat?.timeouts.totalMs, chat?.dropParams, chat?.apiKey]).toEqual([5000, true, 'main']);
    expect(config.environment).toEqual({ A: 'main', B: 'more' });
    expect(config.warnings).toEqual([]);
  });

  it('reports a fault with the name of the faulty file', () => {
    expect(faults(oneModel([], 'include: broken.yaml\n'))).toEqual([
      'broken.yaml:3: model_list[0].params.api_base: must be a URL such as https://host/v1, without user and fragment, not the number 5',
      'broken.yaml:3: model_list[0].params: model is missing: the provider and the name of the model, such as hosted_vllm/gpt-oss-120b',
    ]);
    expect(faults(oneModel([], 'include: [no.yaml, none.yaml, 5, ""]\n'))).toEqual([
      'config.yaml:6: include[2]: must be the path of a YAML file',
      'config.yaml:6: include[3]: must be the path of a YAML file',
      'config.yaml:6: include: the configuration none.yaml cannot be read: there is no such file',
      'no.yaml:1: this is not valid YAML: unexpected end of the stream within a flow collection',
    ]);
  });
});

describe('a large file', () => {
  it.each([
    ['\n', 1_000_001],
    ['\r\n', 1_000_001],
    ['\r', 1_000_001],
  ])('causes a fault if it has more than a million lines, each with the line end %j', (end, count) => {
    write('lines.yaml', `#${end}`.repeat(count));
    expect(faults(oneModel([], 'include: lines.yaml\n'))).toEqual([
      'config.yaml:6: include: the configuration lines.yaml cannot be read: it has more than a million lines',
    ]);
  });

  it('is not too long with 600,000 lines that end with CRLF', () => {
    write('lines.yaml', '#\r\n'.repeat(600_000));
    expect(faults(oneModel([], 'include: lines.yaml\n'))).toEqual(['lines.yaml: the file is empty']);
  });

  it('has a message for each of its 30,000 faults', () => {
    write('twice.yaml', 'a: 1\n'.repeat(30_001));
    expect(faults(oneModel([], 'include: twice.yaml\n'))).toHaveLength(30_000);
  });
});
