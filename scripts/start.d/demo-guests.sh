# shellcheck shell=bash
# Functions for guests: scripts/start creates two demo guests if the host has no machines, and scripts/clients.d/lab.sh
# uses some of these functions. Sourced after setup.sh.

# After sourcing, and before a call, the caller sets these variables: the libvirtd, and a folder for disks.
libvirt_uri=
demo_folder=

demo_pool=rackless-demo
# Marks our guests, so that --clean does not remove another machine with the same name.
demo_mark='Demo guest made by Rackless scripts/start'

# Runs virsh in a session without a terminal. With a terminal, virsh may ask for a password (polkit). The daemon has
# no terminal, so virsh must fail as the daemon does.
virsh_quiet() { setsid --wait virsh --quiet --connect "$libvirt_uri" "$@"; }

# Prints `kvm` if a guest boots with KVM, otherwise `qemu`. A usable /dev/kvm is not enough: under
# some hypervisors, guests with KVM hang. So a boot sector must end QEMU with exit code 33 within
# 1.5 s. Without access to /dev/kvm, trusts the capabilities that libvirt reports.
demo_domain_type() {
  local sector status=0
  if [ ! -e /dev/kvm ] || ! virsh_quiet domcapabilities --virttype kvm >/dev/null 2>&1; then
    printf 'qemu\n'
    return
  fi
  # This account cannot use /dev/kvm, so it cannot try KVM. The account of libvirt can, and libvirt reported KVM.
  if [ ! -r /dev/kvm ] || [ ! -w /dev/kvm ]; then
    printf 'kvm\n'
    return
  fi
  sector=$(mktemp)
  # The sector: mov dx, 0xf4; mov al, 16; out dx, al; then halt.
  { printf '\272\364\000\260\020\356\364\353\375'; head -c 501 /dev/zero; printf '\125\252'; } >"$sector"
  timeout 1.5 qemu-system-x86_64 -accel kvm -m 32 -display none -nodefaults -boot order=c \
    -device isa-debug-exit,iobase=0xf4,iosize=1 -drive "file=$sector,format=raw,if=ide" >/dev/null 2>&1 || status=$?
  rm -f "$sector"
  if [ "$status" = 33 ]; then printf 'kvm\n'; else printf 'qemu\n'; fi
}

# Warns if libvirtd (root) can use KVM, but the guests' account cannot. In this case, libvirt 9 examines
# QEMU again for each call.
warn_of_closed_kvm() {
  if [ "$(id -u)" = 0 ] && [ -e /dev/kvm ] && id libvirt-qemu >/dev/null 2>&1 &&
    ! setpriv --reuid=libvirt-qemu --regid="$(id -g libvirt-qemu)" --init-groups test -w /dev/kvm; then
    say "/dev/kvm is not accessible to libvirt-qemu. libvirt works, but each change of a machine takes up to a minute."
    say "  To correct it: chown root:kvm /dev/kvm && chmod 660 /dev/kvm"
  fi
}

# Prints the XML of a disk, a CD drive and a network card. The CD drive is SCSI, because the guest's kernel has no
# AHCI. The guest reports inserts and ejects on its console. $1: disk
guest_devices() {
  cat <<END
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='$1'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    <controller type='scsi' index='0' model='virtio-scsi'/>
    <disk type='file' device='cdrom'>
      <target dev='sda' bus='scsi'/>
      <readonly/>
    </disk>
    <interface type='user'>
      <model type='virtio'/>
    </interface>
END
}

# Prints the XML of a demo guest. $1 name, $2 domain type, $3 disk, $4 lines of <os> and <features>
demo_xml() {
  cat <<END
<domain type='$2'>
  <name>$1</name>
  <title>Rackless demo</title>
  <description>$demo_mark</description>
  <memory unit='MiB'>256</memory>
  <vcpu>1</vcpu>
  $4
  <on_reboot>restart</on_reboot>
  <devices>
$(guest_devices "$3")
    <serial type='pty'/>
    <console type='pty'/>
    <graphics type='vnc' autoport='yes' listen='127.0.0.1'/>
    <video><model type='vga'/></video>
  </devices>
</domain>
END
}

# Creates a demo guest with its disk. $1 name, $2 firmware: bios or efi, $3 domain type
define_demo_guest() {
  local image path machine
  image=$(scripts/guests/build-guest --kind disk --linux)
  virsh_quiet vol-create-as "$demo_pool" "$1.img" "$(stat -c %s "$image")" --format raw >/dev/null
  virsh_quiet vol-upload --pool "$demo_pool" "$1.img" "$image"
  path=$(virsh_quiet vol-path --pool "$demo_pool" "$1.img")
  case $2 in
    bios) machine="<os><type machine='q35'>hvm</type><boot dev='hd'/></os><features><acpi/></features>" ;;
    # Without the two features, libvirt selects the firmware with Microsoft's keys, which boots
    # nothing unsigned. Without stateless='no', newer libvirt selects the firmware for AMD SEV,
    # which boots no ordinary disk.
    efi)
      machine="<os firmware='efi'><type machine='q35'>hvm</type><firmware><feature enabled='no' name='secure-boot'/>
        <feature enabled='no' name='enrolled-keys'/></firmware><loader stateless='no'/><boot dev='hd'/></os><features><acpi/></features>"
      ;;
  esac
  demo_xml "$1" "$3" "$path" "$machine" | virsh_quiet define --validate /dev/stdin
}

# Creates the pool and the demo guests. Without UEFI firmware, creates only the BIOS guest.
make_demo_guests() {
  local type
  type=$(demo_domain_type)
  say "No machines here: creating two demo machines, rackless-bios and rackless-uefi (virtualization: $type)"
  if ! virsh_quiet pool-info "$demo_pool" >/dev/null 2>&1; then
    virsh_quiet pool-define-as "$demo_pool" dir --target "$demo_folder" >/dev/null
    virsh_quiet pool-build "$demo_pool" >/dev/null
  fi
  virsh_quiet pool-start "$demo_pool" >/dev/null 2>&1 || virsh_quiet pool-refresh "$demo_pool" >/dev/null
  define_demo_guest rackless-bios bios "$type"
  if [[ $(virsh_quiet domcapabilities --machine q35) == *'<value>efi</value>'* ]]; then
    define_demo_guest rackless-uefi efi "$type"
  else
    say "No UEFI firmware for guests here: only rackless-bios"
  fi
}

# Prints the names of existing demo guests.
demo_guests() {
  local name
  for name in rackless-bios rackless-uefi; do
    if [ "$(virsh_quiet desc "$name" 2>/dev/null)" = "$demo_mark" ]; then printf '%s\n' "$name"; fi
  done
}

power_off_demo_guests() {
  local name
  for name in $(demo_guests); do virsh_quiet destroy "$name" >/dev/null 2>&1 || true; done
}

remove_demo_guests() {
  local name
  for name in $(demo_guests); do
    virsh_quiet destroy "$name" >/dev/null 2>&1 || true
    virsh_quiet undefine "$name" --nvram >/dev/null
    say "Removed $name"
  done
  virsh_quiet pool-info "$demo_pool" >/dev/null 2>&1 || return 0
  virsh_quiet pool-start "$demo_pool" >/dev/null 2>&1 || true
  for name in $(virsh_quiet vol-list "$demo_pool" | awk '{ print $1 }'); do
    virsh_quiet vol-delete --pool "$demo_pool" "$name" >/dev/null
  done
  virsh_quiet pool-destroy "$demo_pool" >/dev/null
  virsh_quiet pool-delete "$demo_pool" >/dev/null
  virsh_quiet pool-undefine "$demo_pool" >/dev/null
  say "Removed the disks of the demo machines"
}
