/** Roles over HTTP. */
import { describe, expect, it } from '@jest/globals';
import { accessFixture, accounts, headersOf, statusAndKeys, roles } from '../support/access.js';

const fixture = accessFixture();

describe('roles', () => {
  const send = (method: string, uri: string, body?: object) =>
    fixture.client.send(method, uri, { headers: headersOf('admin'), ...(body === undefined ? {} : { body }) });

  it('include the predefined roles, which cannot be changed or deleted', async () => {
    const privileges = {
      Administrator: ['Login', 'ConfigureManager', 'ConfigureUsers', 'ConfigureComponents', 'ConfigureSelf'],
      Operator: ['Login', 'ConfigureComponents', 'ConfigureSelf'],
      ReadOnly: ['Login', 'ConfigureSelf'],
    };
    for (const [id, AssignedPrivileges] of Object.entries(privileges)) {
      const uri = `${roles}/${id}`;
      expect((await fixture.client.get(uri, headersOf('rick'))).json).toEqual({
        '@odata.id': uri,
        '@odata.type': '#Role.v1_3_3.Role',
        '@odata.context': '/redfish/v1/$metadata#Role.Role',
        Id: id,
        Name: `${id} Role`,
        RoleId: id,
        IsPredefined: true,
        AssignedPrivileges,
        OemPrivileges: [],
      });
      expect(statusAndKeys(await send('PATCH', uri, { AssignedPrivileges: ['Login'] }))).toBe(
        '400 PropertyNotWritable',
      );
      expect(statusAndKeys(await send('DELETE', uri))).toBe('409 ResourceCannotBeDeleted');
    }
    expect((await fixture.client.get(roles, headersOf('rick'))).json).toMatchObject({ 'Members@odata.count': 3 });
  });

  it('are created, are changed with immediate effect, and are deleted if no account has them', async () => {
    const uri = `${roles}/Nurse`;
    const created = await send('POST', roles, { RoleId: 'Nurse', AssignedPrivileges: ['Login', 'Login'] });
    expect([created.status, created.headers.location, created.json]).toMatchObject([
      201,
      uri,
      { RoleId: 'Nurse', IsPredefined: false, AssignedPrivileges: ['Login'] },
    ]);
    expect((await send('PATCH', `${accounts}/rick`, { RoleId: 'Nurse' })).status).toBe(200);
    const forceOff = () =>
      fixture.client.send('POST', `${fixture.machine}/Actions/ComputerSystem.Reset`, {
        headers: headersOf('rick'),
        body: { ResetType: 'ForceOff' },
      });
    expect((await forceOff()).status).toBe(403);
    expect((await send('PATCH', uri, { AssignedPrivileges: ['Login', 'ConfigureComponents'] })).status).toBe(200);
    expect((await forceOff()).status).toBe(204);
    expect(statusAndKeys(await send('DELETE', uri))).toBe('409 ResourceInUse');
    expect((await send('PATCH', `${accounts}/rick`, { RoleId: 'ReadOnly' })).status).toBe(200);
    expect(statusAndKeys(await send('DELETE', uri))).toBe('204');
    expect(statusAndKeys(await fixture.client.get(uri, headersOf('admin')))).toBe('404 ResourceNotFound');
  });

  it('are limited to 100 beyond the predefined ones, because each change writes the whole state file', async () => {
    const create = (index: number) => send('POST', roles, { RoleId: `Role${index}`, AssignedPrivileges: ['Login'] });
    for (let index = 0; index < 100; index += 1) await create(index);
    expect(statusAndKeys(await create(100))).toBe('400 CreateLimitReachedForResource');
    for (let index = 0; index < 100; index += 1)
      expect((await send('DELETE', `${roles}/Role${index}`)).status).toBe(204);
  });

  it('gain only privileges of the requester, so that ConfigureManager does not lead to ConfigureUsers', async () => {
    const deployer = ['Login', 'ConfigureSelf', 'ConfigureComponents', 'ConfigureManager'];
    const uri = `${roles}/Deployer`;
    expect((await send('POST', roles, { RoleId: 'Deployer', AssignedPrivileges: deployer })).status).toBe(201);
    expect((await send('PATCH', `${accounts}/rick`, { RoleId: 'Deployer' })).status).toBe(200);
    const asDeployer = (method: string, target: string, body: object) =>
      fixture.client.send(method, target, { headers: headersOf('rick'), body });
    const all = [...deployer, 'ConfigureUsers'];
    const grown = await asDeployer('PATCH', uri, { AssignedPrivileges: all });
    expect(statusAndKeys(grown)).toBe('403 InsufficientPrivilege');
    const made = await asDeployer('POST', roles, { RoleId: 'Root', AssignedPrivileges: all });
    expect(statusAndKeys(made)).toBe('403 InsufficientPrivilege');
    expect((await fixture.client.get(uri, headersOf('admin'))).json).toMatchObject({ AssignedPrivileges: deployer });
    // The requester may change a role that already has a privilege that the requester does not have.
    await send('POST', roles, { RoleId: 'Clerk', AssignedPrivileges: ['ConfigureUsers'] });
    const changed = await asDeployer('PATCH', `${roles}/Clerk`, { AssignedPrivileges: ['ConfigureUsers', 'Login'] });
    expect(changed.status).toBe(200);
    expect((await asDeployer('PATCH', uri, { AssignedPrivileges: ['Login'] })).status).toBe(200);
  });

  it.each([
    [{ RoleId: 'readonly', AssignedPrivileges: [] }, '400 ResourceAlreadyExists'],
    [{ RoleId: 'a/b', AssignedPrivileges: [] }, '400 PropertyValueFormatError'],
    [{ RoleId: 'Members', AssignedPrivileges: [] }, '400 PropertyValueFormatError'],
    [{ RoleId: 'Nurse', AssignedPrivileges: ['Everything'] }, '400 PropertyValueNotInList'],
    [{ RoleId: 'Nurse', AssignedPrivileges: [], OemPrivileges: ['x'] }, '400 ArraySizeTooLong'],
    [{ AssignedPrivileges: ['Login'] }, '400 PropertyMissing'],
  ])('are not created from %j: the answer is %s', async (body, expected) => {
    expect(
      statusAndKeys(await send('POST', roles, body))
        .split(' ')
        .sort(),
    ).toEqual(expected.split(' ').sort());
  });
});
