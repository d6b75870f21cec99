//go:build !oldest

package main

import (
	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/schemas"
)

type (
	ComputerSystem = schemas.ComputerSystem
	EventService   = schemas.EventService
	ManagerAccount = schemas.ManagerAccount
	VirtualMedia   = schemas.VirtualMedia
)

// The service sends ETags in headers, but this version of gofish reads them only from @odata.etag in bodies. So it
// sends no If-Match.
const sendsIfMatch = false

func readTasks(service *gofish.Service) error {
	tasks, err := service.Tasks()
	if err != nil {
		return err
	}
	return one(tasks.Tasks())
}

func bootFromCdOnce(system *ComputerSystem) error {
	return system.SetBoot(&schemas.Boot{
		BootSourceOverrideTarget:  schemas.CdBootSource,
		BootSourceOverrideEnabled: schemas.OnceBootSourceOverrideEnabled,
	})
}

func reset(system *ComputerSystem, kind string) error {
	return one(system.Reset(schemas.ResetType(kind)))
}

func insert(drive *VirtualMedia, image string) error {
	return one(drive.InsertMedia(&schemas.VirtualMediaInsertMediaParameters{Image: image}))
}

func eject(drive *VirtualMedia) error {
	return one(drive.EjectMedia())
}

func subscribe(events *EventService, destination string) (string, error) {
	return events.CreateEventSubscriptionInstance(destination, nil, nil, nil, schemas.RedfishEventDestinationProtocol, "gofish", "", nil)
}

func submitTestEvent(events *EventService) error {
	return one(events.SubmitTestEvent(&schemas.EventServiceSubmitTestEventParameters{MessageID: "Base.1.22.Success"}))
}
