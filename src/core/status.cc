#include "core/status.h"

namespace etrt {

const char* status_name(Status status) {
  switch (status) {
    case Status::Ok:
      return "Ok";
    case Status::Internal:
      return "Internal";
    case Status::InvalidState:
      return "InvalidState";
    case Status::EndOfMethod:
      return "EndOfMethod";
    case Status::AlreadyLoaded:
      return "AlreadyLoaded";
    case Status::NotSupported:
      return "NotSupported";
    case Status::NotImplemented:
      return "NotImplemented";
    case Status::InvalidArgument:
      return "InvalidArgument";
    case Status::InvalidType:
      return "InvalidType";
    case Status::OperatorMissing:
      return "OperatorMissing";
    case Status::RegistrationExceedingMaxKernels:
      return "RegistrationExceedingMaxKernels";
    case Status::RegistrationAlreadyRegistered:
      return "RegistrationAlreadyRegistered";
    case Status::NotFound:
      return "NotFound";
    case Status::MemoryAllocationFailed:
      return "MemoryAllocationFailed";
    case Status::AccessFailed:
      return "AccessFailed";
    case Status::InvalidProgram:
      return "InvalidProgram";
    case Status::InvalidExternalData:
      return "InvalidExternalData";
    case Status::OutOfResources:
      return "OutOfResources";
    case Status::DelegateInvalidCompatibility:
      return "DelegateInvalidCompatibility";
    case Status::DelegateMemoryAllocationFailed:
      return "DelegateMemoryAllocationFailed";
    case Status::DelegateInvalidHandle:
      return "DelegateInvalidHandle";
  }
  return "Unknown";
}

}  // namespace etrt
