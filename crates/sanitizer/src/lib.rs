//! Memory, race, initialisation and barrier checks, as observers of the virtual GPU.
